#pragma once
// Options of `insitu`.

#include <cstdint>
#include <string>
#include "cli/command_line.hpp"

namespace insitu {

struct Options {
  int timesteps = 20;
  int fields = 8;
  int size = 4096;  // values of one field on one rank
  std::uint64_t seed = 1;
  int pause_us = 100;  // longest time between two items of a compute rank
  bool verify = true;
  std::string out;   // where the diagnostics go; empty: nowhere
  std::string json;  // where results go; empty: nowhere
};

/// Adds all options to `app`.
void add_options(cli::App& app, Options& options);

}  // namespace insitu
