// Global memory of a rank that fails while others of its process use it.

#include <shoal/memory.hpp>

#include "support/run_world.hpp"
#include "support/sizes.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace memory_lifetime_test {

using shoal::GlobalMemory;
using shoal::Rank;
using shoal::World;
using Checks = shoal::GlobalMemoryOptions::Checks;

constexpr std::ptrdiff_t kWords = 1 << 17;

/// Shared by the ranks of a world.
struct Use {
  std::atomic<bool> fails{false};  // rank 0 is about to
  std::atomic<int> users{0};       // tasks between two accesses of one loop
  std::atomic<int> early{0};       // ends of memories while there were some
  std::atomic<int> after{0};       // rounds of accesses behind the failure
};

/// Destroyed before the memory that was made before it.
struct Ending {
  explicit Ending(Use& u) : use(u) {}
  ~Ending() {
    if (use.users > 0) ++use.early;
  }
  Use& use;
};

/// Reads and writes the memory of rank 0, until it has failed and for some time after that.
void access(GlobalMemory& memory, shoal::GlobalPtr<std::uint64_t> far, Use& use) {
  std::vector<std::uint64_t> here(kWords / 32);
  ++use.users;
  for (int left = 20; left > 0;) {
    memory.get(far, std::span(here));
    static_cast<void>(memory.put(far + 1, std::span<const std::uint64_t>(here)));
    memory.fetch_add(far, 1);
    if (!use.fails) continue;
    --left;
    ++use.after;
  }
  --use.users;
}

/// One world, in which rank 0 fails while tasks, and the main function if `by_main`, of rank 1 use
/// its memory by loads and stores. In the whole world, or in a team of it.
void fail_while_used(Use& use, int round, bool by_main, bool in_team) {
  const auto play = [&](shoal::Team& team) {
    GlobalMemory memory(team, {.name = "m", .heap_bytes = 8U << 20U, .checks = Checks::off});
    const Ending ending(use);
    const auto far = memory.collective_allocate<std::uint64_t>(kWords).on(Rank(0));
    team.barrier();
    if (team.rank() == 0) {
      team.barrier();
      // A task that has not begun when its world fails does not run.
      while (use.users == 0) shoal::sleep_for(std::chrono::microseconds(50));
      shoal::sleep_for(std::chrono::microseconds(round * 300));
      use.fails = true;
      throw std::runtime_error("planted");
    }
    static_cast<void>(memory.get(far));  // the way is known
    // Each has words of its own.
    const auto part = [far](std::ptrdiff_t user) { return far + user * kWords / 4; };
    for (int t = 0; t < 2; ++t) team.spawn([&, own = part(t)] { access(memory, own, use); });
    team.barrier();
    if (by_main) access(memory, part(2), use);
    team.wait();
  };
  EXPECT_EQ(shoal::testing::run_world(2, 3,
                                      [&](World& world) {
                                        if (!in_team) return play(world);
                                        shoal::Team team = world.split(0);
                                        play(team);
                                      }),
            1);
}

TEST(MemoryLifetime, HeapsOfOneProcess_EndAfterTheLastAccessOfAllRanks) {
  for (const bool in_team : {false, true}) {
    for (const bool by_main : {false, true}) {
      Use use;
      for (int round = 0; round < shoal::testing::sized(2, 1); ++round) {
        use.fails = false;
        fail_while_used(use, round, by_main, in_team);
      }
      EXPECT_EQ(use.early, 0) << "in a team " << in_team << ", by main functions " << by_main;
      EXPECT_GT(use.after, 0);
      EXPECT_EQ(use.users, 0);
    }
  }
}

}  // namespace memory_lifetime_test
