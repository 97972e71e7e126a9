#pragma once
// Options of `bfs`.

#include <cstdint>
#include <string>
#include "cli/command_line.hpp"

namespace bfs {

struct Options {
  int scale = 16;
  int edge_factor = 16;
  std::uint64_t seed = 1;
  std::string graph;    // a Matrix Market file; empty: a random graph
  std::string variant;  // of the search
  int roots = 64;
  bool verify = true;
  std::string json;  // where results go; empty: nowhere
};

/// Adds all options to `app`.
void add_options(cli::App& app, Options& options);

}  // namespace bfs
