#pragma once
// Memory of ranks for each other: configuration and report of all sides.

#include <cstdint>
#include <string>

#include "ranks/program.hpp"

namespace bench::memory {

struct PairOptions {
  std::string kernel;
  int peers = 0;  // each rank sends to so many that follow it; 0: to all
  int messages = 1000;
  int most = 32;  // ranks of the largest idle world
  RunOptions run;
};

void add_options(cli::App& app, PairOptions& options);

/// To how many others each of `ranks` ranks sends.
[[nodiscard]] int peer_count(const PairOptions& options, int ranks);

/// Resident bytes of all processes, before and after the messages.
struct Usage {
  std::int64_t before = 0;
  std::int64_t after = 0;
};

/// Prints what the messages have added for each pair of ranks between which they went. Returns the
/// exit code.
int finish_traffic(const PairOptions& options, const std::string& side, int ranks,
                   const Usage& usage, bool verified);

}  // namespace bench::memory
