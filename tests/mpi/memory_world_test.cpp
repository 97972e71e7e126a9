// Global memory between processes: in memory that they share, and by messages alone.

#include <shoal/memory.hpp>
#include <shoal/mpi.hpp>

#include "mpi/world_battery.hpp"
#include "support/memory_battery.hpp"
#include "support/memory_program.hpp"
#include "support/sizes.hpp"

#include <sys/resource.h>

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace {

using shoal::GlobalMemory;
using shoal::Rank;
using shoal::World;
using shoal::testing::require;
using shoal::testing::run_with;
using Checks = shoal::GlobalMemoryOptions::Checks;

/// The heaps of processes that share memory are reached without messages.
void ways(World& world, bool shared) {
  GlobalMemory memory(world, shoal::testing::battery_options(Checks::off));
  const auto place = memory.collective_allocate<int>();
  world.barrier();
  for (int rank = 0; rank < world.size(); ++rank) {
    require(memory.get(place.on(Rank(rank))) == 0, "a value of rank {}", rank);
  }
  world.wait();
  const auto statistics = memory.statistics();
  if (shared) {
    require(statistics.requests == 0, "{} requests by messages", statistics.requests);
    require(statistics.direct_ranks + 1 == static_cast<std::uint64_t>(world.size()),
            "{} ranks are near", statistics.direct_ranks);
  }
}

/// Whether all processes are on one node.
bool one_node() {
  MPI_Comm near = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
  int near_count = 0;
  int count = 0;
  MPI_Comm_size(near, &near_count);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  MPI_Comm_free(&near);
  return near_count == count;
}

/// The largest resident set of this process so far, in MiB.
std::size_t peak_mib() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) >> 10U;
}

/// 10^5 gets at once, from 10^4 tasks that are all parked.
void many(World& world) {
  constexpr std::size_t kTasks = shoal::testing::sized(10'000, 1000);
  constexpr std::size_t kMib = 400;  // two pages of stack and ten requests of each task, and double
  GlobalMemory memory(world, shoal::testing::battery_options(Checks::off));
  shoal::GlobalVector<std::uint64_t> values(memory, 1000, shoal::VectorDistribution::cyclic());
  for (std::size_t i = 0; i < values.local().size(); ++i) {
    values.local()[i] = values.index_of(world.rank(), i);
  }
  world.barrier();
  for (std::size_t t = 0; t < kTasks; ++t) {
    world.spawn([&, t] {
      std::vector<shoal::Future<std::uint64_t>> futures;
      for (std::size_t i = 0; i < 10; ++i) {
        futures.push_back(memory.get_async(values[(t * 7 + i * 101) % 1000]));
      }
      for (std::size_t i = 0; i < 10; ++i) {
        require(futures[i].get() == (t * 7 + i * 101) % 1000, "one of many values");
      }
    });
  }
  world.wait();
  if (!shoal::testing::kSanitized) {
    require(peak_mib() < kMib, "{} MiB at the most", peak_mib());
  }
}

void random_programs(World& world) {
  for (std::uint64_t seed = 0; seed < shoal::testing::sized(40, 10); ++seed) {
    try {
      shoal::testing::run_memory_program(world, seed, seed % 3 == 0 ? Checks::on : Checks::off);
    } catch (const std::exception& error) {
      require(false, "seed {}: {}", seed, error.what());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  int granted = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
  const int failed = shoal::testing::report([] {
    const bool together = one_node();
    for (const std::string near : {"64", "1"}) {
      const auto run = [&near](const auto& part, const std::string& workers) {
        const int code =
            run_with({"--workers", workers, "--node-processes", near}, part, MPI_COMM_WORLD);
        require(code == 0, "ended with {}, {} near", code, near);
      };
      for (const std::string workers : {"1", "2"}) {
        run([](World& world) { shoal::testing::whole_battery(world, Checks::off); }, workers);
      }
      run([](World& world) { shoal::testing::whole_battery(world, Checks::on); }, "1");
      run([&](World& world) { ways(world, together && near != "1"); }, "1");
      run(&random_programs, "2");
      run(&many, "2");
    }
  });
  MPI_Finalize();
  return failed;
}
