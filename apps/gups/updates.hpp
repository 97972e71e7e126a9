#pragma once
// Random updates of, and random reads from, a table that is spread over all ranks.

#include <shoal/memory.hpp>

#include <cstddef>
#include <cstdint>

namespace gups {

struct Options {
  int log_size = 16;          // of the table, in words of 8 bytes
  std::uint64_t updates = 4;  // per word
  int tasks = 8;              // per rank, that update at the same time
  std::uint64_t seed = 1;
  bool gather = false;  // read words instead
};

struct Result {
  double seconds = 0;
  std::uint64_t operations = 0;  // of all ranks
  std::uint64_t wrong = 0;       // words or reads, of all ranks
};

/// HPC Challenge RandomAccess: each update replaces a random word by its exclusive or with a random
/// number. Here none is lost: the sum of the table shows it, and the same updates once more restore
/// the table. Collective.
Result update(shoal::World& world, const Options& options);
/// Index gather: each rank reads random words. Collective.
Result gather(shoal::World& world, const Options& options);

}  // namespace gups
