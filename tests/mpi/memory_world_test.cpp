// Global memory between processes: in memory that they share, by messages alone, and with gets by
// MPI-3 RMA.

#include <shoal/memory.hpp>
#include <shoal/shoal.hpp>

#include "mpi/mpi_launch.hpp"
#include "net/mpi_transport.hpp"
#include "support/joined_program.hpp"
#include "support/memory_battery.hpp"
#include "support/memory_program.hpp"
#include "support/sizes.hpp"

#include <sys/resource.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace memory_world_test {

using shoal::GlobalMemory;
using shoal::Rank;
using shoal::World;
using shoal::testing::require;
using shoal::testing::run_on_launch;
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

/// With checks on, a put that is refused is an error of the call, and its signal does not come.
void refused_signal(World& world) {
  GlobalMemory memory(world, shoal::testing::battery_options(Checks::on));
  const auto array = memory.collective_allocate<int>(4);
  std::atomic<int> seen{0};
  const auto signal = world.make_am([&] { ++seen; });
  world.barrier();
  const Rank next((world.rank().value() + 1) % world.size());
  const std::array<int, 2> values{1, 2};
  std::string text;
  try {
    memory.put_signal(array.on(next) + 3, values, [&] { signal.send(next); });
  } catch (const shoal::CheckError& error) {
    text = error.what();
  }
  require(text.find("4 bytes past the allocation") != std::string::npos, "refused with: {}", text);
  world.wait();
  require(seen == 0, "a signal came behind a put that was refused");
}

/// One that nothing waits for fails the run with its reason.
void refused_put(World& world) {
  GlobalMemory memory(world, shoal::testing::battery_options(Checks::on));
  const auto array = memory.collective_allocate<int>(4);
  world.barrier();
  const std::array<int, 2> values{1, 2};
  try {
    const Rank last(world.size() - 1);
    if (world.rank() == 0) static_cast<void>(memory.put(array.on(last) + 3, values));
    world.wait();
  } catch (const shoal::Error& error) {
    const std::string text = error.what();
    require(text.find("4 bytes past the allocation") != std::string::npos, "failed with: {}", text);
    throw;
  }
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
  const auto distribution = shoal::Distribution::cyclic(1000, world.size());
  shoal::GlobalVector<std::uint64_t> values(memory, distribution);
  for (std::size_t i = 0; i < values.local().size(); ++i) {
    values.local()[i] = distribution.index(world.rank(), i);
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

void random_programs(World& world, std::uint64_t count) {
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    try {
      shoal::testing::run_memory_program(world, seed, seed % 3 == 0 ? Checks::on : Checks::off);
    } catch (const std::exception& error) {
      require(false, "seed {}: {}", seed, error.what());
    }
  }
}

/// Whether the MPI at hand can read other processes' memory. A refusal comes in all processes, says
/// what to do, and leaves MPI as it was.
bool has_windows() {
  const auto env = shoal::env::make_thread_env();
  shoal::net::MpiOptions options;
  options.env = env.get();
  options.remote_memory = true;
  options.communicator = shoal::testing::communicator_of_launch();
  try {
    const auto transport = shoal::net::make_mpi_transport(options);
    require(transport->remote_memory() != nullptr, "no window and no refusal");
    transport->finish();
    return true;
  } catch (const shoal::ConfigError& error) {
    const std::string text = error.what();
    require(text.find("run without --global-rma") != std::string::npos, "no advice in: {}", text);
    return false;
  }
}

constexpr std::size_t kWindowBytes = std::size_t{1} << 19U;

std::uint8_t byte_at(int rank, std::size_t i) {
  return static_cast<std::uint8_t>(i * 131 + i / 251 + static_cast<std::size_t>(rank) * 17);
}

/// Gets of many sizes at once from all ranks, beside operations on words of the same heaps.
void gets_by_windows(World& world) {
  GlobalMemory memory(world, shoal::testing::battery_options(Checks::off));
  const auto bytes = memory.collective_allocate<std::uint8_t>(kWindowBytes);
  const auto counter = memory.collective_allocate<std::int64_t>();
  for (std::size_t i = 0; i < kWindowBytes; ++i) {
    memory.local(bytes)[i] = byte_at(world.rank().value(), i);
  }
  world.barrier();
  constexpr std::size_t kGets = shoal::testing::sized(400, 100);
  std::uint64_t large = 0;  // those that are not of a word
  std::vector<std::vector<std::uint8_t>> places;
  std::vector<shoal::Transfer> transfers;
  for (std::size_t i = 0; i < kGets; ++i) {
    const std::size_t size = (i * i * 37) % (i % 20 == 0 ? kWindowBytes / 2 : 3000);
    const Rank owner(static_cast<int>(i) % world.size());
    if (owner != world.rank() && size >= 16) ++large;
    auto& place = places.emplace_back(size);
    transfers.push_back(
        memory.get_async(bytes.on(owner) + static_cast<std::ptrdiff_t>(i * 5), std::span(place)));
    static_cast<void>(memory.add_async(counter.on(owner), 1));
    if (i % 7 == 0) transfers.back() = {};  // waits until nothing is written there any more
  }
  for (std::size_t i = 0; i < kGets; ++i) {
    if (i % 7 == 0) continue;
    transfers[i].wait();
    const int owner = static_cast<int>(i) % world.size();
    for (std::size_t k = 0; k < places[i].size(); ++k) {
      require(places[i][k] == byte_at(owner, i * 5 + k), "byte {} of get {} from rank {}", k, i,
              owner);
    }
  }
  world.wait();
  const auto statistics = memory.statistics();
  require(statistics.rma_gets == large, "{} gets by MPI, not {}", statistics.rma_gets, large);
  std::int64_t expected = 0;
  for (std::size_t i = 0; i < kGets; ++i) {
    if (static_cast<int>(i) % world.size() == world.rank().value()) expected += world.size();
  }
  const std::int64_t sum = *memory.local(counter);
  require(sum == expected, "{} of {} additions arrived", sum, expected);
  world.barrier();
}

/// A rank fails, and its memory ends, while others read it.
void fail_while_read(World& world) {
  GlobalMemory memory(world, shoal::testing::battery_options(Checks::off));
  const auto bytes = memory.collective_allocate<std::uint8_t>(kWindowBytes);
  world.barrier();
  std::vector<std::uint8_t> place(kWindowBytes);
  memory.get(bytes.on(Rank(0)), std::span(place));  // the ways are known
  if (world.rank() == 0) throw std::runtime_error("rank 0 gives up");
  std::vector<std::vector<std::uint8_t>> places(64, place);
  std::vector<shoal::Transfer> transfers;
  for (auto& to : places) {
    transfers.push_back(memory.get_async(bytes.on(Rank(0)), std::span(to)));
  }
  for (shoal::Transfer& transfer : transfers) transfer.wait();
}

void windows() {
  for (const std::string progress : {"worker", "main", "thread"}) {
    const std::vector<std::string> arguments{"--workers",    "2",  "--node-processes", "1",
                                             "--global-rma", "16", "--progress",       progress};
    const auto run = [&](const auto& part) {
      const int code = run_on_launch(arguments, part);
      require(code == 0, "ended with {}, gets by MPI, progress {}", code, progress);
    };
    run(&gets_by_windows);
    if (progress != "worker") continue;
    run([](World& world) { shoal::testing::whole_battery(world, Checks::off); });
    run([](World& world) { random_programs(world, shoal::testing::sized(10, 5)); });
    require(run_on_launch(arguments, &fail_while_read) != 0, "rank 0 did not fail");
  }
}

int program(int argc, char** argv) {
  return shoal::testing::report_with_mpi(argc, argv, [] {
    if (has_windows()) windows();
    const int near_count = shoal::testing::collective_near_count();
    const bool together = near_count == shoal::testing::processes_of_launch();
    std::vector<std::string> limits{"64"};
    if (near_count > 1) limits.emplace_back("1");  // otherwise the same again
    const bool are_all = !shoal::testing::kSanitized || shoal::testing::processes_of_launch() <= 2;
    for (const std::string& near : limits) {
      const auto run = [&near](const auto& part, const std::string& workers) {
        const int code = run_on_launch({"--workers", workers, "--node-processes", near}, part);
        require(code == 0, "ended with {}, {} near", code, near);
      };
      const auto battery = [&](Checks checks, const std::string& workers) {
        run([checks](World& world) { shoal::testing::whole_battery(world, checks); }, workers);
      };
      battery(near == "1" ? Checks::off : Checks::on, "1");
      battery(Checks::off, "2");
      if (are_all) battery(near == "1" ? Checks::on : Checks::off, "1");
      run([&](World& world) { ways(world, together && near != "1"); }, "1");
      run(&refused_signal, "1");
      require(run_on_launch({"--workers", "1", "--node-processes", near}, &refused_put) != 0,
              "a put past an allocation was not found, {} near", near);
      run([](World& world) { random_programs(world, shoal::testing::sized(40, 10)); }, "2");
      run(&many, "2");
    }
    if (near_count == 1) return;
    // Each of 4 processes reaches one in memory and the others by messages.
    require(
        run_on_launch({"--workers", "2", "--node-processes", "2"},
                      [](World& world) { shoal::testing::whole_battery(world, Checks::off); }) == 0,
        "failed with both ways to the same words");
  });
}

const shoal::testing::JoinedProgram kProgram("memory_world_test", &program);

}  // namespace memory_world_test
