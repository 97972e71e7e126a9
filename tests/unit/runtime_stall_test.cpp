// Programs that hang, or seem to, on real threads: what they say about themselves.

#include <shoal/future.hpp>
#include <shoal/loops.hpp>
#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include "support/run_world.hpp"
#include "support/seeded_bugs.hpp"
#include "support/stderr_tap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <mutex>
#include <ostream>
#include <regex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace shoal::testing {
void PrintTo(const SeededBug& bug, std::ostream* out) { *out << bug.name; }
}  // namespace shoal::testing

namespace runtime_stall_test {

using shoal::Delivery;
using shoal::Rank;
using shoal::World;
using shoal::testing::run_world;
using shoal::testing::seeded_bugs;
using shoal::testing::SeededBug;
using shoal::testing::StderrTap;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// --- those that end by themselves

class EndingBug : public testing::TestWithParam<SeededBug> {};

INSTANTIATE_TEST_SUITE_P(Stall, EndingBug, testing::ValuesIn(seeded_bugs()),
                         [](const auto& info) { return info.param.name; });

TEST_P(EndingBug, OnThreads_EndsAndNamesTheCulprit) {
  for (const int workers : {1, 2}) {
    StderrTap tap;
    const int code = run_world(2, workers, GetParam().program);
    const std::string said = tap.stop();
    EXPECT_EQ(code, 1);
    for (const std::string& part : GetParam().named) EXPECT_THAT(said, HasSubstr(part));
  }
}

// --- those that do not

/// Something that the program waits for outside shoal, until the test has seen enough.
class Gate {
 public:
  void pass() {
    inside_ = true;
    inside_.notify_all();
    open_.wait(false);
  }
  /// A task is in pass().
  void await_visitor() { inside_.wait(false); }
  void open() {
    open_ = true;
    open_.notify_all();
  }

 private:
  std::atomic<bool> inside_{false};
  std::atomic<bool> open_{false};
};

struct Shape {
  int ranks = 2;
  int workers = 1;
  std::vector<std::string> more{"--stall-report", "100000s"};  // on the signal only
};

/// Runs a world; once standard error has each of `parts` (a report is written at once), calls
/// `release`, which lets the world end. Returns the text written.
std::string report_of(const Shape& shape, const std::function<void(World&)>& program,
                      const std::vector<std::string>& parts, const std::function<void()>& release) {
  StderrTap tap;
  bool found = true;
  std::thread reader([&] {
    for (const std::string& part : parts) found = found && tap.await(part);
    release();
  });
  const int code = run_world(shape.ranks, shape.workers, program, shape.more);
  reader.join();
  EXPECT_TRUE(found);
  EXPECT_EQ(code, 0);
  return tap.stop();
}

TEST(Stall, HandlerThatBlocksOutsideShoal_IsNamedOnSignal) {
  Gate gate;
  const std::string said = report_of(
      {2, 1},
      [&](World& world) {
        const auto log = world.make_am([&](int) { gate.pass(); }, {.name = "write log"});
        if (world.rank() == 0) {
          log.send(Rank(1), 1);
          gate.await_visitor();
          raise(SIGUSR1);
        }
        world.wait();
      },
      {"shoal: report"}, [&] { gate.open(); });
  EXPECT_THAT(said, HasSubstr("report of 2 ranks: requested by SIGUSR1"));
  EXPECT_THAT(said, ContainsRegex("rank 1: main function: in wait[(][)] for "));
  EXPECT_THAT(said,
              ContainsRegex("worker 0: runs the handler 'write log' for .* and has not returned "
                            "from it"));
  EXPECT_THAT(said, HasSubstr("to rank 1: 1 message, the last 'write log'; "));
}

TEST(Stall, AttemptThatBlocksOutsideShoal_IsNamedWithItsNumber) {
  Gate gate;
  std::atomic<int> attempts{0};
  const std::string said = report_of(
      {2, 1},
      [&](World& world) {
        if (world.rank() == 1) {
          world.spawn(
              [&] {
                if (++attempts == 1) throw std::runtime_error("not yet");
                gate.pass();
              },
              {.name = "solve", .retries = 3});
        } else {
          gate.await_visitor();
          raise(SIGUSR1);
        }
        world.wait();
      },
      {"shoal: report"}, [&] { gate.open(); });
  EXPECT_THAT(said, ContainsRegex("worker 0: runs attempt 2 of 4 of 'solve' for .* and has not "
                                  "returned from it"));
}

TEST(Stall, HandlerThatBlocksOutsideShoal_IsReportedWithoutBeingAsked) {
  Gate gate;
  const std::string said = report_of(
      {2, 1, {"--stall-report", "100ms"}},
      [&](World& world) {
        const auto log = world.make_am([&](int) { gate.pass(); }, {.name = "write log"});
        if (world.rank() == 0) log.send(Rank(1), 1);
        world.wait();
      },
      {"the handler 'write log'"}, [&] { gate.open(); });
  EXPECT_THAT(said, ContainsRegex("nothing has happened for .* [(]--stall-report[)]"));
}

/// Runs a program that polls until the report has named it.
void expect_poll_is_reported(const std::function<void(World&, std::atomic<bool>&)>& program,
                             const std::string& named) {
  std::atomic<bool> flag{false};
  const std::string said = report_of(
      {2, 1, {"--stall-report", "100ms"}}, [&](World& world) { program(world, flag); },
      {"shoal: report"}, [&] { flag = true; });
  EXPECT_THAT(said, ContainsRegex("nothing has happened for .* [(]--stall-report[)]"));
  EXPECT_THAT(said, ContainsRegex(named));
}

TEST(Stall, PollsWithoutEnd_AreReported) {
  expect_poll_is_reported(
      [](World& world, std::atomic<bool>& flag) {
        while (world.rank() == 1 && !flag) shoal::yield();
        world.wait();
      },
      "rank 1: main function: .*");
  expect_poll_is_reported(
      [](World& world, std::atomic<bool>& flag) {
        if (world.rank() == 0) {
          world.spawn(
              [&flag] {
                while (!flag) shoal::sleep_for(std::chrono::milliseconds(1));
              },
              {.name = "poller"});
        }
        world.wait();
      },
      "'poller' in sleep_for");
  expect_poll_is_reported(
      [](World& world, std::atomic<bool>& flag) {
        shoal::Promise<int> promise(world);
        const shoal::Future<int> future = promise.future();
        while (world.rank() == 1 && !future.is_ready() && !flag) continue;
        world.wait();
      },
      "rank 1: main function: running");
}

TEST(Stall, InvocationsOfObjects_AreNamed) {
  class Slow : public shoal::DistributedObject<Slow> {
   public:
    Slow(shoal::Team& team, Gate& gate) : DistributedObject(team), gate_(gate) {}
    void visit() { gate_.pass(); }
    void ask() { sync<&Slow::nothing>(Rank(1)); }
    void nothing() {}

   private:
    Gate& gate_;
  };
  Gate gate;
  const std::string said = report_of(
      {2, 2, {"--stall-report", "100ms"}},
      [&](World& world) {
        Slow slow(world, gate);
        if (world.rank() == 0) {
          slow.async<&Slow::visit>(Rank(1));
          slow.async<&Slow::ask>(Rank(0));
        }
        slow.fence();
      },
      {"wait for their turn"}, [&] { gate.open(); });
  EXPECT_THAT(said, HasSubstr("Slow::visit of object 1, invoked by rank 0' for "));
  EXPECT_THAT(said, HasSubstr("Slow::ask of object 1, invoked by rank 0' waits in get() of"));
  EXPECT_THAT(said, ContainsRegex("an earlier one: 1; one of them .*Slow::nothing of object 1 "));
}

TEST(Stall, WaitsWithADeadline_AreNamedWithTheTimeThatIsLeft) {
  std::atomic<shoal::Semaphore*> to_release{nullptr};
  const std::string said = report_of(
      {1, 1},
      [&](World& world) {
        shoal::Mutex mutex("busy");
        shoal::Semaphore permits(0, "permits");
        std::unique_lock lock(mutex);
        int waiting = 0;
        for (int i = 0; i < 2; ++i) {
          world.spawn(
              [&] {
                ++waiting;
                EXPECT_TRUE(mutex.try_lock_for(std::chrono::hours(10)));
                mutex.unlock();
              },
              {.name = "waiter"});
        }
        while (waiting < 2) shoal::yield();
        to_release = &permits;
        raise(SIGUSR1);
        EXPECT_TRUE(permits.try_acquire_for(std::chrono::hours(2)));
        lock.unlock();
        world.wait();
      },
      {"shoal: report"}, [&] { to_release.load()->release(); });
  EXPECT_THAT(said, ContainsRegex("main function: in acquire[(][)] of semaphore 'permits' for .*, "
                                  "at most 7[0-9]*[.][0-9] s longer"));
  EXPECT_THAT(said,
              ContainsRegex("parked: 2 times 'waiter' in lock[(][)] of mutex 'busy', which .* "
                            "holds for .*, at most 3[0-9]*[.][0-9] s longer"));
}

TEST(Stall, FutureOfACollectiveOperation_IsNamedWithTheOperation) {
  Gate gate;
  const std::string said = report_of(
      {2, 1},
      [&](World& world) {
        world.barrier();
        if (world.rank() == 1) gate.pass();
        shoal::Future<int> sum = world.allreduce_async(1, std::plus<>());
        if (world.rank() == 0) {
          gate.await_visitor();
          raise(SIGUSR1);
        }
        EXPECT_EQ(sum.get(), 2);
        world.wait();
      },
      {"shoal: report"}, [&] { gate.open(); });
  EXPECT_THAT(said, ContainsRegex("rank 0: main function: in get[(][)] of allreduce[(][)] "
                                  "[(]collective number 2[)] for "));
  EXPECT_THAT(said, HasSubstr("\n  allreduce() (collective number 2) of the world: called by rank "
                              "0, not by rank 1\n"));
}

TEST(Stall, SwitchedOff_LeavesTheSignalAlone) {
  StderrTap tap;
  const auto program = [](World& world) {
    struct sigaction now {};
    sigaction(SIGUSR1, nullptr, &now);
    EXPECT_EQ(now.sa_handler, SIG_DFL);
    world.wait();
  };
  EXPECT_EQ(run_world(2, 2, program, {"--stall-report", "0s"}), 0);
  EXPECT_EQ(tap.stop(), "");
}

TEST(Stall, ReportedTwice_WhenItGoesOn) {
  Gate gate;
  StderrTap tap;
  std::thread reader([&] {
    EXPECT_TRUE(tap.await("nothing has happened for", 2));
    gate.open();
  });
  run_world(1, 1, [&](World&) { gate.pass(); }, {"--stall-report", "50ms"});
  reader.join();
  EXPECT_THAT(tap.stop(), HasSubstr("runs the main function for "));
}

// Tasks that catch everything in a loop take the end of each wait for that of their own wait.
TEST(Stall, TasksThatIgnoreTheFailure_AreReportedWithIt) {
  std::atomic<bool> open{false};
  StderrTap tap;
  std::thread reader([&] {
    EXPECT_TRUE(tap.await("has not ended", 1));
    open = true;
  });
  const int code = run_world(2, 2,
                             [&](World& world) {
                               std::atomic<bool> begun{false};
                               shoal::Promise<void> never(world);
                               shoal::Future<void> future = never.future();
                               world.spawn(
                                   [&] {
                                     begun = true;
                                     while (!open) {
                                       try {
                                         world.async([] {}).get();
                                         future.wait();
                                       } catch (...) {  // CancelledError, again and again
                                       }
                                     }
                                   },
                                   {.name = "stubborn"});
                               world.spawn([&] {
                                 while (!begun) shoal::yield();
                                 throw std::runtime_error("the first error");
                               });
                               world.wait();
                             },
                             {"--stall-report", "50ms"});
  reader.join();
  EXPECT_EQ(code, 1);
  EXPECT_THAT(tap.stop(), AllOf(ContainsRegex("the run has failed, and has not ended for "),
                                HasSubstr("has failed, and drops tasks and messages"),
                                HasSubstr("the first error"), HasSubstr("tasks not finished")));
}

// --- --stall-abort

// A death test's message and exit code: those of a world that hangs for ever.
TEST(StallAbort, HoldThatIsNeverEnded_EndsTheRunAfterAReport) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        run_world(2, 2,
                  [](World& world) {
                    const shoal::Hold hold = world.hold();
                    world.wait();
                  },
                  {"--stall-abort", "100ms"});
      },
      testing::ExitedWithCode(1),
      "1 of them is a Hold(.|\n)*error: nothing has happened for .* "
      "the run is given up [(]--stall-abort[)]");
}

// All workers are busy outside shoal, and a stream is locked.
TEST(StallAbort, MainFunctionsThatNeverComeBack_EndTheRun) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Gate gate;
        flockfile(stdout);
        run_world(2, 1, [&](World&) { gate.pass(); },
                  {"--stall-report", "200ms", "--stall-abort", "1s"});
      },
      testing::ExitedWithCode(1), "runs the main function for (.|\n)*the run is given up");
}

// The main functions have returned: run() waits for the task, and no wait() of the program does.
TEST(StallAbort, TaskThatNeverEndsAfterTheMainFunctions_EndsTheRunAfterAReport) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Gate gate;
        run_world(2, 1,
                  [&](World& world) {
                    if (world.rank() == 1) world.spawn([&] { gate.pass(); }, {.name = "endless"});
                  },
                  {"--stall-report", "200ms", "--stall-abort", "1s"});
      },
      testing::ExitedWithCode(1),
      "rank 1: (.|\n)*runs the task 'endless' for (.|\n)*the run is given up [(]--stall-abort[)]");
}

TEST(Stall, PingPongWithoutEnd_IsNamedOnSignalAsMoving) {
  for (const int workers : {1, 2}) {
    std::atomic<bool> stop{false};
    const std::string said = report_of(
        {2, workers},
        [&](World& world) { shoal::testing::ping_pong(world, stop, [] { raise(SIGUSR1); }); },
        {"tasks run or messages move right now", "the last 'ping'", "the last 'pong'",
         "the last 'ping'", "the last 'pong'"},
        [&] { stop = true; });
    EXPECT_THAT(said, ContainsRegex("to rank 1: [0-9]+ messages, the last 'ping'"));
  }
}

// No task begins, ends or sends a message: two only wake each other.
TEST(Stall, TasksThatParkAndWake_AreNamedOnSignalAsMoving) {
  for (const int workers : {1, 2}) {
    std::atomic<bool> stop{false};
    const std::string said = report_of(
        {1, workers},
        [&](World& world) {
          shoal::FullEmpty<int> there;
          shoal::FullEmpty<int> back;
          world.spawn([&] {
            for (int n = 0; n >= 0; n = back.read_fe()) {
              if (n % 1000 == 0) raise(SIGUSR1);
              there.write_ef(stop ? -1 : n + 1);
            }
          });
          world.spawn([&] {
            int n = 0;
            while (n >= 0) {
              n = there.read_fe();
              back.write_ef(n);
            }
          });
          world.wait();
        },
        {"tasks run or messages move right now"}, [&] { stop = true; });
    EXPECT_THAT(said, HasSubstr("requested by SIGUSR1"));
  }
}

double seconds_behind(const std::string& text, const std::string& words) {
  std::smatch found;
  const bool is_there =
      std::regex_search(text, found, std::regex(words + "([0-9.]+) (s|ms|us)\\b"));
  EXPECT_TRUE(is_there) << words << " in " << text;
  if (!is_there) return 0;
  const double unit = found[2] == "s" ? 1 : found[2] == "ms" ? 1e-3 : 1e-6;
  return std::stod(found[1]) * unit;
}

TEST(Stall, AgesInAReport_FitTogether) {
  Gate gate;
  const std::string said = report_of(
      {1, 1, {"--stall-report", "800ms"}},
      [&](World& world) {
        std::this_thread::sleep_for(std::chrono::milliseconds(500));  // to see ages that differ
        world.spawn([&] { gate.pass(); }, {.name = "long"});
        world.wait();
      },
      {"the task 'long'"}, [&] { gate.open(); });
  constexpr double kRounding = 0.1;
  const double quiet = seconds_behind(said, "; nothing has happened for ");
  EXPECT_LE(quiet, seconds_behind(said, "runs the task 'long' for ") + kRounding) << said;
  EXPECT_LE(quiet, seconds_behind(said, "main function: in wait[(][)] for ") + kRounding) << said;
}

TEST(Stall, TaskThatNeverEnds_IsNamedWithItsKey) {
  Gate gate;
  const std::string said = report_of(
      {1, 2},
      [&](World& world) {
        shoal::TaskGraph<int> graph(world, "solver");
        graph.set_indegree([](int) { return 1; })
            .set_mapping([](int) { return 1; })
            .set_binding([](int) { return true; })
            .set_task([&](int k) {
              if (k == 3) gate.pass();
            });
        graph.fulfill(3);
        gate.await_visitor();
        graph.fulfill(4);
        graph.fulfill(5);
        raise(SIGUSR1);
        world.wait();
      },
      {"shoal: report"}, [&] { gate.open(); });
  EXPECT_THAT(said, ContainsRegex("worker 1: runs the task 'solver\\[3\\]' for "));
  EXPECT_THAT(said, AllOf(HasSubstr("queued: 2 tasks bound to worker 1"),
                          HasSubstr("3 of 3 tasks not finished")));
}

// One worker blocks in an iteration, outside shoal. The other one does all others; then the task of
// the loop waits for that one.
TEST(Stall, IterationThatNeverEnds_IsNamedWithItsLoop_AndSoIsTheTaskThatWaitsForIt) {
  Gate gate;
  const std::string said = report_of(
      {1, 2, {"--stall-report", "100ms"}},
      [&](World& world) {
        world.spawn(
            [&] {
              const std::thread::id caller = std::this_thread::get_id();
              const auto iteration = [&](int) {
                if (std::this_thread::get_id() == caller) {
                  gate.await_visitor();
                } else {
                  gate.pass();
                }
              };
              shoal::parallel_for(0, 64, iteration, {.name = "sweep"});
            },
            {.name = "step"});
        world.wait();
      },
      {"runs the task 'sweep' for ", "in parallel_for 'sweep'"}, [&] { gate.open(); });
  EXPECT_THAT(said, ContainsRegex("parked: 'step' [^\n]*iterations? that ha[^\n]* not ended, in "
                                  "parallel_for 'sweep'"));
}

TEST(Stall, MainFunctionThatNeverComesToWait_IsNamed) {
  Gate gate;
  const std::string said = report_of(
      {2, 1},
      [&](World& world) {
        if (world.rank() == 1) gate.pass();
        if (world.rank() == 0) {
          gate.await_visitor();
          raise(SIGUSR1);
        }
        world.wait();
      },
      {"shoal: report"}, [&] { gate.open(); });
  EXPECT_THAT(said, AllOf(HasSubstr("rank 1: main function: running"),
                          HasSubstr("worker 0: runs the main function for "),
                          HasSubstr("the main function of this rank to call wait()"),
                          HasSubstr("\n  wait() of the world: called by rank 0, not by rank 1\n")));
}

// Rank 1 takes nothing, so rank 0 soon may send nothing.
TEST(Stall, SendersThatStandStill_AreNamedWithTheWindow) {
  Gate gate;
  const std::string said = report_of(
      {2, 1, {"--stall-report", "100ms", "--window-bytes", "4K", "--packet-bytes", "1K"}},
      [&](World& world) {
        const auto flood = world.make_am([](const std::string&) {}, {.name = "flood"});
        if (world.rank() == 1) gate.pass();
        if (world.rank() == 0) {
          gate.await_visitor();
          world.spawn(
              [&] {
                for (int i = 0; i < 100; ++i) flood.send(Rank(1), std::string(1000, 'x'));
              },
              {.name = "producer"});
        }
        world.wait();
      },
      {"the last 'flood'"}, [&] { gate.open(); });
  EXPECT_THAT(said, ContainsRegex("parked: 'producer' in send[(][)] to rank 1 for "));
  EXPECT_THAT(said, HasSubstr("1 sender waits in send() until half of the window of 4K"));
  EXPECT_THAT(said, HasSubstr("some not yet received by rank 1"));
}

TEST(Stall, HoldThatIsNeverEnded_IsNamed) {
  std::atomic<bool> release{false};
  const std::string said = report_of(
      {1, 1, {"--stall-report", "100ms"}},
      [&](World& world) {
        std::thread thread([&release, hold = world.hold()] { release.wait(false); });
        world.wait();
        thread.join();
      },
      {"Hold"},
      [&] {
        release = true;
        release.notify_all();
      });
  EXPECT_THAT(said, HasSubstr("1 of 1 task not finished; 1 of them is a Hold"));
}

TEST(Stall, MissingFulfillWhileAHoldKeepsTheWorldAlive_NamesTheKey) {
  std::atomic<bool> release{false};
  const std::string said = report_of(
      {2, 1},
      [&](World& world) {
        shoal::TaskGraph<int> graph(world, "graph");
        graph.set_indegree([](int) { return 2; })
            .set_mapping([](int) { return 0; })
            .set_task([](int) {});
        if (world.rank() == 1) {
          std::thread thread([&release, hold = world.hold()] { release.wait(false); });
          graph.fulfill(8);
          raise(SIGUSR1);
          EXPECT_THROW(world.wait(), shoal::StuckError);
          thread.join();
        } else {
          EXPECT_THROW(world.wait(), shoal::StuckError);
        }
      },
      {"shoal: report"},
      [&] {
        release = true;
        release.notify_all();
      });
  EXPECT_THAT(said, HasSubstr("task graph 'graph': graph[8] has fulfilled 1 of 2 dependencies"));
}

TEST(Stall, OneRankOfMany_IsNamed) {
  Gate gate;
  const std::string said = report_of(
      {60, 1},
      [&](World& world) {
        if (world.rank() == 37) {
          world.spawn([&] { gate.pass(); }, {.name = "culprit"});
        } else if (world.rank() == 0) {
          gate.await_visitor();
          raise(SIGUSR1);
        }
        world.wait();
      },
      {"shoal: report"}, [&] { gate.open(); });
  EXPECT_THAT(said, AllOf(HasSubstr("rank 37: "), HasSubstr("the task 'culprit'")));
}

// --- the signal

void own_handler(int) {}

TEST(Stall, SignalOfTheProgram_IsLeftAlone) {
  struct sigaction before {};
  struct sigaction own {};
  own.sa_handler = own_handler;
  sigaction(SIGUSR1, &own, &before);
  StderrTap tap;
  run_world(2, 1, [](World& world) {
    raise(SIGUSR1);
    struct sigaction now {};
    sigaction(SIGUSR1, nullptr, &now);
    EXPECT_EQ(now.sa_handler, &own_handler);
    world.wait();
  });
  EXPECT_EQ(tap.stop(), "");
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(Stall, SignalsDefault_IsBackAfterTheRun) {
  for (int i = 0; i < 3; ++i) {
    run_world(2, 1, [](World& world) {
      struct sigaction now {};
      sigaction(SIGUSR1, nullptr, &now);
      EXPECT_NE(now.sa_handler, SIG_DFL);
      world.wait();
    });
    struct sigaction after {};
    sigaction(SIGUSR1, nullptr, &after);
    EXPECT_EQ(after.sa_handler, SIG_DFL);
  }
}

TEST(Stall, SignalsAllTheTime_DisturbNothing) {
  std::atomic<int> handled{0};
  StderrTap tap;
  const int code = run_world(4, 2, [&](World& world) {
    const auto am = world.make_am([&](int n) {
      if (n % 16 == 0) raise(SIGUSR1);
      ++handled;
    });
    for (int round = 0; round < 20; ++round) {
      for (int i = 0; i < 64; ++i) am.send(Rank(i % 4), i);
      world.wait();
    }
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(handled.load(), 20 * 4 * 64);
  EXPECT_THAT(tap.stop(), Not(HasSubstr("error")));
}

}  // namespace runtime_stall_test
