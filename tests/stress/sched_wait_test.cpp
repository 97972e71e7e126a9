// Tasks that wait, on real threads: many, often, and while the world fails.

#include <shoal/future.hpp>
#include <shoal/shoal.hpp>
#include <shoal/sleep.hpp>
#include <shoal/sync.hpp>
#include <shoal/task_group.hpp>

#include "support/scheduler_run.hpp"
#include "support/sizes.hpp"
#include "support/wait_world.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sched_wait_test {

using shoal::Future;
using shoal::Promise;
using shoal::TaskError;
using shoal::World;
using shoal::testing::Counted;
using shoal::testing::kSanitized;
using shoal::testing::run_world;
using shoal::testing::SchedulerRun;
using shoal::testing::sized;
using shoal::testing::text_of;

constexpr int kWorkers = 8;

TEST(WaitStress, PingPongByFutures_LosesNothing) {
  static constexpr int kPairs = 16;
  constexpr int kRounds = sized(2000, 200);
  EXPECT_EQ(run_world(1, kWorkers,
                      [](World& world) {
                        struct Place {
                          explicit Place(World& world) : ping(world), pong(world) {}
                          Promise<int> ping;
                          Promise<int> pong;
                        };
                        std::atomic<int> ended{0};
                        for (int pair = 0; pair < kPairs; ++pair) {
                          auto places = std::make_shared<std::vector<Place>>();
                          for (int i = 0; i < kRounds; ++i) places->emplace_back(world);
                          std::vector<Future<int>> pings;
                          for (Place& place : *places) pings.push_back(place.ping.future());
                          world.spawn([places, &ended] {
                            int value = 0;
                            for (Place& place : *places) {
                              auto back = place.pong.future();
                              place.ping.set_value(value);
                              value = back.get();
                            }
                            if (value == kRounds) ++ended;
                          });
                          world.spawn([places, pings = std::move(pings)]() mutable {
                            for (std::size_t i = 0; i < pings.size(); ++i) {
                              (*places)[i].pong.set_value(pings[i].get() + 1);
                            }
                          });
                        }
                        world.wait();
                        EXPECT_EQ(ended.load(), kPairs);
                      }),
            0);
}

TEST(WaitStress, MutexCounter_CountsRight) {
  constexpr int kTasks = 200;
  constexpr int kRounds = sized(300, 30);
  EXPECT_EQ(run_world(1, kWorkers,
                      [](World& world) {
                        shoal::Mutex mutex;
                        std::int64_t plain = 0;
                        for (int i = 0; i < kTasks; ++i) {
                          world.spawn([&] {
                            for (int round = 0; round < kRounds; ++round) {
                              const std::scoped_lock lock(mutex);
                              ++plain;
                            }
                          });
                        }
                        world.wait();
                        EXPECT_EQ(plain, std::int64_t{kTasks} * kRounds);
                      }),
            0);
}

TEST(WaitStress, WokenByThreadsOfTheProgram_AllGoOn) {
  static constexpr int kThreads = 4;
  static constexpr int kEach = sized(3000, 300);
  EXPECT_EQ(run_world(1, 4,
                      [](World& world) {
                        std::atomic<int> sum{0};
                        std::vector<std::thread> threads;
                        shoal::Semaphore semaphore(world, 0);
                        for (int t = 0; t < kThreads; ++t) {
                          auto promises = std::make_shared<std::vector<Promise<int>>>();
                          for (int i = 0; i < kEach; ++i) promises->emplace_back(world);
                          for (auto& promise : *promises) {
                            world.spawn([&, future = promise.future()]() mutable {
                              sum += future.get();
                              semaphore.acquire();
                              ++sum;
                            });
                          }
                          threads.emplace_back(
                              [&, promises, hold = std::make_shared<shoal::Hold>(world.hold())] {
                                for (auto& promise : *promises) {
                                  promise.set_value(1);
                                  semaphore.release();
                                }
                              });
                        }
                        for (auto& thread : threads) thread.join();
                        world.wait();
                        EXPECT_EQ(sum.load(), 2 * kThreads * kEach);
                      }),
            0);
}

// All kinds of waits are under way when the world fails.
TEST(WaitStress, FailureInTheMiddle_LeavesNobodyBehind) {
  for (int round = 0; round < sized(60, 10); ++round) {
    std::atomic<int> alive{0};
    text_of<TaskError>(2, 4, [&](World& world) {
      shoal::Mutex mutex;
      shoal::ConditionVariable condition;
      shoal::Barrier barrier(5);
      int turn = 0;
      for (int i = 0; i < 40; ++i) {
        world.spawn([&, i] {
          const Counted counted(alive);
          while (true) {
            if (i % 4 == 0) {
              std::unique_lock lock(mutex);
              ++turn;
              condition.notify_one();
              condition.wait(lock, [&, before = turn] { return turn != before; });
            } else if (i % 4 == 1) {
              world.async([] {}).get();
            } else if (i % 4 == 2) {
              shoal::TaskGroup group;
              group.spawn([&] { shoal::sleep_for(std::chrono::microseconds(10)); });
              group.spawn([&] { barrier.arrive_and_wait(); });
              group.wait();
            } else {
              const int target = (world.rank().value() + 1) % world.size();
              world.call(shoal::Rank(target), [] { shoal::yield(); }).get();
            }
          }
        });
      }
      world.spawn([&, round] {
        shoal::sleep_for(std::chrono::microseconds(100 * (round % 20)));
        throw std::runtime_error("enough");
      });
      world.wait();
    });
    ASSERT_EQ(alive.load(), 0);
  }
}

/// Resident memory of this process: its pages, and the page tables of the kernel.
std::size_t resident_bytes() {
  std::size_t kib = 0;
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::size_t value = 0;
    if ((word == "VmRSS:" || word == "VmPTE:") && status >> value) kib += value;
  }
  return kib << 10U;
}

/// The kernel makes guards without mappings of their own (Linux 6.13).
bool has_light_guards() {
  constexpr int kGuardInstall = 102;  // MADV_GUARD_INSTALL
  const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const page =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool has = madvise(page, bytes, kGuardInstall) == 0;
  munmap(page, bytes);
  return has;
}

TEST(WaitStress, AHundredThousandTasksAtOnce_TakeLittleMemory) {
  constexpr int kTasks = sized(100'000, 2000);
  constexpr std::size_t kBytesMax = std::size_t{12} << 10U;
  shoal::sched::SchedulerOptions options;
  options.worker_count = 4;
  SchedulerRun run(options);  // with stacks of 8 MiB
  Promise<void> promise(run.scheduler());
  auto future = promise.future();
  std::atomic<int> ended{0};
  const std::size_t before = resident_bytes();
  for (int i = 0; i < kTasks; ++i) {
    run.submit([&] {
      try {
        future.wait();
        ++ended;
      } catch (...) {
        run.scope().record(std::current_exception());
      }
    });
  }
  while (run.scheduler().waiting().count() + run.scope().failures().size() < kTasks) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const std::size_t each = (resident_bytes() - before) / kTasks;
  std::printf("%d parked tasks, %zu bytes each with their page tables\n", kTasks, each);
  const std::vector<std::string> failures = run.scope().failures();
  if (has_light_guards()) {
    EXPECT_THAT(failures, testing::IsEmpty());
  }
  EXPECT_THAT(failures, testing::Each(testing::HasSubstr("vm.max_map_count")));
  if (failures.empty() && !kSanitized) {
    EXPECT_LE(each, kBytesMax);
  }
  promise.set_value();
  run.finish();
  EXPECT_EQ(static_cast<std::size_t>(ended) + failures.size(), static_cast<std::size_t>(kTasks));
}

}  // namespace sched_wait_test
