// Vectors that ranks move on to each other: the memory in which they arrive was used before, so
// that the system need not give fresh pages to each of them.

#include "env/freed_memory.hpp"
#include "mpi/world_battery.hpp"
#include "support/joined_program.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace runtime_large_arguments_test {

using shoal::testing::require;
using Numbers = std::vector<std::int64_t>;

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

/// Sends a vector there and back, or copies of it; returns the page faults of this process for each
/// arrival.
double faults_of(shoal::World& world, std::size_t size_bytes, bool copies) {
  constexpr int kBefore = 10;  // round trips that are not counted
  constexpr int kCounted = 50;
  const shoal::Rank next((world.rank() + 1) % world.size());
  Numbers first(size_bytes / sizeof(std::int64_t));
  std::iota(first.begin(), first.end(), 0);
  const Numbers expected = first;
  int arrived = 0;
  long counted_from = 0;
  long counted_to = 0;
  std::optional<shoal::ActiveMessage<Numbers>> ball;
  ball.emplace(world.make_am([&](Numbers numbers) {
    if (++arrived == kBefore) counted_from = page_faults();
    if (arrived == kBefore + kCounted) {
      counted_to = page_faults();
      require(numbers == expected, "rank {}: a vector has changed", int{world.rank()});
      if (world.rank() == 0) return;
    }
    if (copies) {
      ball->send(next, numbers);
    } else {
      ball->send(next, std::move(numbers));
    }
  }));
  world.barrier();
  if (world.rank() == 0) ball->send(next, std::move(first));
  world.wait();
  require(arrived == kBefore + kCounted, "rank {}: {} vectors", int{world.rank()}, arrived);
  return static_cast<double>(counted_to - counted_from) / kCounted;
}

void run_test(shoal::World& world) {
  using shoal::env::FreedMemory;
  const FreedMemory treatment = shoal::env::treatment_of_freed_memory();
  if (treatment == FreedMemory::unknown || world.size() != 2) return;
  require(treatment == FreedMemory::kept, "freed memory goes back to the system");
  for (const std::size_t size_bytes : {64UL << 10U, 1UL << 20U, 8UL << 20U}) {
    const auto pages = static_cast<double>(size_bytes) / static_cast<double>(getpagesize());
    for (const bool copies : {false, true}) {
      const double faults = faults_of(world, size_bytes, copies);
      require(faults < 8 + pages / 16, "rank {}: {} page faults for each {} vector of {} pages",
              int{world.rank()}, faults, copies ? "copied" : "moved", pages);
    }
  }
}

int program(int argc, char** argv) {
  std::vector<const char*> arguments(argv, argv + argc);
  arguments.insert(arguments.end(), {"--workers", "1"});
  return shoal::run(static_cast<int>(arguments.size()), arguments.data(), run_test);
}

const shoal::testing::JoinedProgram kProgram("runtime_large_arguments_test", &program);

}  // namespace runtime_large_arguments_test
