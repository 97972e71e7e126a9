// Programs that hang, or seem to, in virtual time: what they say about themselves.

#include <shoal/loops.hpp>
#include <shoal/shoal.hpp>

#include "support/seeded_bugs.hpp"
#include "support/turn_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sim_stall_test {

using shoal::Rank;
using shoal::World;
using shoal::testing::SeededBug;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST(SimStall, SeededBugs_EndWithTheSameExplanationInEveryOrder) {
  for (const SeededBug& bug : shoal::testing::seeded_bugs()) {
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
      std::string text;
      shoal::testing::run_turns({.seed = seed, .ranks = 2, .workers = 1 + int(seed % 2)},
                                [&](World& world) {
                                  const std::string mine = explanation(bug, world);
                                  if (world.rank() == bug.told) text = mine;
                                  return 0;
                                });
      for (const std::string& part : bug.named) {
        EXPECT_THAT(text, HasSubstr(part)) << bug.name << " with seed " << seed;
      }
    }
  }
}

/// The error of a simulated world of two ranks.
std::string error_of(const std::function<void(shoal::runtime::Config&)>& change,
                     const std::function<void(World&)>& program) {
  shoal::runtime::Config config;
  config.ranks = 2;
  config.sim_seed = 7;
  config.args = {"test"};
  change(config);
  try {
    shoal::runtime::SimulatedWorld world(config);
    world.run([&](World& w) {
      program(w);
      return 0;
    });
  } catch (const shoal::Error& error) {
    return error.what();
  }
  return "";
}

TEST(SimStall, LongWork_IsNamedWhenTheTimeIsUp) {
  const std::string text =
      error_of([](auto& config) { config.sim_limit_ns = 1'000'000'000; },
               [&](World& world) {
                 world.spawn([] { shoal::compute(shoal::Cost::of_seconds(100), [] {}); },
                             {.name = "a long one"});
                 world.wait();
               });
  EXPECT_THAT(text,
              AllOf(HasSubstr("--sim-limit"), HasSubstr("worker 0: runs the task 'a long one'")));
}

TEST(SimStall, LongIterations_AreNamedWithTheirLoop) {
  const std::string text = error_of(
      [](auto& config) {
        config.workers = 2;
        config.sim_limit_ns = 1'000'000'000;
      },
      [](World& world) {
        if (world.rank() == 0) {
          const auto iteration = [](int) { shoal::compute(shoal::Cost::of_seconds(100), [] {}); };
          world.spawn([=] { shoal::parallel_for(0, 8, iteration, {.name = "sweep"}); },
                      {.name = "step"});
        }
        world.wait();
      });
  EXPECT_THAT(text, AllOf(HasSubstr("--sim-limit"), HasSubstr("runs the task 'step'"),
                          HasSubstr("runs the task 'sweep'")));
}

// They are destroyed while the ranks are whole.
TEST(SimStall, QueuedTasks_MayOwnObjectsOfTheTeam) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const std::string text = error_of(
        [&](auto& config) {
          config.sim_limit_ns = 1'000'000;
          config.sim_seed = seed;
        },
        [&](World& world) {
          for (int i = 0; i < 4; ++i) {
            world.spawn([] { shoal::compute(shoal::Cost::of_seconds(100), [] {}); });
            world.spawn([hold = world.hold(), future = world.async([] { return 1; })] {},
                        {.worker = shoal::WorkerId(0), .bound = true});
          }
          world.wait();
        });
    EXPECT_THAT(text, HasSubstr("--sim-limit"));
  }
}

TEST(SimStall, Teams_AreListedWithWhatTheirMembersDo) {
  const std::string text =
      error_of([](auto& config) { config.sim_limit_ns = 1'000'000'000; },
               [&](World& world) {
                 shoal::Team team(world, {shoal::Rank(1), shoal::Rank(0)}, "pair");
                 if (world.rank() == 1) {
                   team.spawn([] { shoal::compute(shoal::Cost::of_seconds(100), [] {}); });
                 }
                 team.wait();
               });
  EXPECT_THAT(text, HasSubstr("team 'pair' (rank 1 of 2): a member in wait() for"));
  EXPECT_THAT(text, HasSubstr("team 'pair' (rank 0 of 2): a member in wait() for"));
  EXPECT_THAT(text, HasSubstr("1 task not finished, 0 messages sent and 0 handled here"));
}

TEST(SimStall, HoldThatIsNeverEnded_IsNamedWithTheSeed) {
  // Never ended, not even after its world.
  static auto* const kept = new std::vector<std::unique_ptr<shoal::Hold>>;
  const std::string text =
      error_of([](auto&) {},
               [&](World& world) {
                 if (world.rank() == 1)
                   kept->push_back(std::make_unique<shoal::Hold>(world.hold()));
                 world.wait();
               });
  EXPECT_THAT(text, AllOf(HasSubstr("hangs"), HasSubstr("--sim-seed 7"),
                          HasSubstr("rank 1: main function: in wait()"),
                          HasSubstr("1 of 1 task not finished; 1 of them is a Hold")));
  EXPECT_THAT(text, ContainsRegex("Hold of the world: 1 made by the main function, at "
                                  "sim_stall_test.cpp:[0-9:]+; the main function is in wait[(][)], "
                                  "which does not return before these have ended: end them first"));
  EXPECT_THAT(text, Not(HasSubstr("nothing has happened for")));
}

TEST(SimStall, ParkedTasks_CountAsNotFinished) {
  static auto* const kept = new std::vector<std::unique_ptr<shoal::Hold>>;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const std::string text =
        error_of([&](auto& config) { config.sim_seed = seed; },
                 [&](World& world) {
                   shoal::Team team(world, {Rank(1), Rank(0)}, "pair");
                   shoal::Promise<int> never(world);
                   if (world.rank() == 1) {
                     const shoal::SharedFuture<int> future = never.future().share();
                     kept->push_back(std::make_unique<shoal::Hold>(world.hold()));
                     const auto reads = [future] { static_cast<void>(future.get()); };
                     for (int i = 0; i < 4; ++i) world.spawn(reads, {.name = "reader"});
                     for (int i = 0; i < 2; ++i) team.spawn(reads, {.name = "member"});
                     static_cast<void>(future.then([](int) {}));
                   }
                   world.wait();
                 });
    EXPECT_THAT(text, AllOf(HasSubstr("tasks: 8 created, 0 finished"),
                            HasSubstr("parked: 4 times 'reader' in get() of 'promise of int'"),
                            HasSubstr("8 of 8 tasks not finished; 1 of them is a Hold"),
                            HasSubstr("team 'pair' (rank 0 of 2): no member waits in it; 2 tasks "
                                      "not finished")));
  }
}

TEST(SimStall, RanksThatHaveNotCalledACollective_AreNamed) {
  static auto* const kept = new std::vector<std::unique_ptr<shoal::Hold>>;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const std::string text = error_of(
        [&](auto& config) {
          config.ranks = 4;
          config.sim_seed = seed;
        },
        [&](World& world) {
          shoal::Team team(world, {Rank(0), Rank(1), Rank(2)}, "solver");
          if (team.is_member()) team.barrier();
          if (world.rank() < 2) team.barrier();
          if (world.rank() == 2) kept->push_back(std::make_unique<shoal::Hold>(world.hold()));
          world.wait();
        });
    EXPECT_THAT(text, AllOf(HasSubstr("hangs"),
                            HasSubstr("\n  barrier() (collective number 2) of team 'solver': "
                                      "called by ranks 0, 1, not by rank 2\n"),
                            HasSubstr("\n  wait() of the world: called by ranks 2, 3, not by "
                                      "ranks 0, 1\n")));
  }
}

TEST(SimStall, HoldsOfATeam_AreNamedWithTheirMakers) {
  static auto* const kept = new std::vector<std::unique_ptr<shoal::Hold>>;
  const std::string text = error_of([](auto&) {},
                                    [&](World& world) {
                                      shoal::Team team(world, {Rank(1)}, "one");
                                      if (!team.is_member()) return;
                                      const auto keep = [&] {
                                        kept->push_back(std::make_unique<shoal::Hold>(team.hold()));
                                      };
                                      keep();
                                      keep();
                                      team.spawn(keep, {.name = "starter"});
                                      team.wait();
                                    });
  EXPECT_THAT(text,
              ContainsRegex("Hold of team 'one': 2 made by the main function, at "
                            "sim_stall_test.cpp:[0-9:]+; the main function is in wait[(][)]"));
  EXPECT_THAT(text, ContainsRegex("Hold of team 'one': 1 made by starter, at "
                                  "sim_stall_test.cpp:[0-9:]+; wait[(][)] does not return before"));
}

TEST(SimStall, PingPongWithoutEnd_ReachesTheLimitAndIsNamed) {
  const std::atomic<bool> stop{false};
  const std::string text = error_of([](auto& config) { config.sim_limit_ns = 10'000'000; },
                                    [&](World& world) { shoal::testing::ping_pong(world, stop); });
  EXPECT_THAT(text, AllOf(HasSubstr("--sim-limit"), HasSubstr("--sim-seed 7"),
                          HasSubstr("2 of 2 main functions still run")));
  EXPECT_THAT(text, ContainsRegex("to rank 1: [0-9]+ messages, the last 'ping'"));
  EXPECT_THAT(text, ContainsRegex("from rank 1: [0-9]+ messages handled, the last 'pong'"));
}

struct Poll {
  const char* name;
  std::function<void(World&)> by_rank_0;
  std::function<void(World&)> by_rank_1;
};

void yields(World& /*world*/) {
  while (true) shoal::yield();
}
void yields_in_a_task(World& world) {
  world.spawn(
      [] {
        const shoal::Promise<int> never;
        while (true) shoal::yield();
      },
      {.name = "poller"});
}
void asks_a_future(World& world) {
  shoal::Promise<int> never(world);
  const shoal::Future<int> future = never.future();
  while (!future.is_ready()) continue;
}
void asks_a_future_and_sleeps(World& world) {
  shoal::Promise<int> never(world);
  const shoal::SharedFuture<int> future = never.future().share();
  while (!future.is_ready()) shoal::sleep_for(std::chrono::milliseconds(1));
}
void tries_to_lock(World& world) {
  shoal::Mutex mutex(world);
  mutex.lock();
  while (!mutex.try_lock()) continue;
  mutex.unlock();
}

TEST(SimStall, PollsWithoutEnd_AreNamed) {
  const std::vector<Poll> polls{
      {"yield()", &yields_in_a_task, &yields},
      {"is_ready() and try_lock()", &asks_a_future, &tries_to_lock},
      {"is_ready() and sleep_for()", [](World& /*world*/) {}, &asks_a_future_and_sleeps},
  };
  for (const Poll& poll : polls) {
    const std::string text = error_of([](auto&) {},
                                      [&](World& world) {
                                        const bool is_first = world.rank() == 0;
                                        (is_first ? poll.by_rank_0 : poll.by_rank_1)(world);
                                        world.wait();
                                      });
    EXPECT_THAT(text, AllOf(HasSubstr("the simulated world polls for ever"),
                            HasSubstr("Wait by get() of a future"), HasSubstr("--sim-seed 7"),
                            HasSubstr("report of 2 ranks")))
        << poll.name;
  }
}

TEST(SimStall, TasksThatWaitForALock_AreReportedWithItsHolder) {
  const std::string text = error_of([](auto&) {},
                                    [](World& world) {
                                      shoal::Mutex mutex(world, "ledger");
                                      if (world.rank() == 1) {
                                        world.spawn(
                                            [&] {
                                              mutex.lock();
                                              world.spawn([&] { mutex.lock(); }, {.name = "clerk"});
                                              while (true) shoal::yield();
                                            },
                                            {.name = "poller"});
                                      }
                                      world.wait();
                                    });
  EXPECT_THAT(text, HasSubstr("parked: 'clerk' in lock() of mutex 'ledger', which 'poller' holds"));
}

// A poll whose end is to come, however late, is none of these.
TEST(SimStall, PollsThatEnd_AreNotDisturbed) {
  EXPECT_EQ(error_of([](auto& config) { config.workers = 2; },
                     [](World& world) {
                       bool flag = false;
                       if (world.rank() == 0) {
                         world.spawn([&flag] {
                           shoal::sleep_for(std::chrono::milliseconds(700));
                           flag = true;
                         });
                         while (!flag) shoal::yield();
                       }
                       auto future = world.call(Rank(1 - world.rank()), [] { return 2; });
                       while (!future.is_ready()) continue;
                       EXPECT_EQ(future.get(), 2);
                       world.wait();
                     }),
            "");
}

TEST(SimStall, SameSeed_SaysTheSame) {
  const std::atomic<bool> stop{false};
  const auto run = [&] {
    return error_of([](auto& config) { config.sim_limit_ns = 1'000'000; },
                    [&](World& world) { shoal::testing::ping_pong(world, stop); });
  };
  EXPECT_EQ(run(), run());
}

TEST(SimStall, RunWithinItsLimit_IsNotDisturbed) {
  EXPECT_EQ(error_of([](auto& config) { config.sim_limit_ns = 1'000'000'000; },
                     [](World& world) { world.wait(); }),
            "");
}

}  // namespace sim_stall_test
