// run(): options, help, errors and the exit code.

#include <shoal/shoal.hpp>
#include <shoal/version.hpp>

#include "support/run_world.hpp"
#include "support/thread_limit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/prctl.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace runtime_run_test {

using shoal::World;
using shoal::testing::run_with;
using shoal::testing::run_world;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// Sets an environment variable for the length of a test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

struct Outcome {
  int code = -1;
  int mains = 0;  // main functions that ran
  int size = 0;
  int workers = 0;
  std::string out;
  std::string err;
};

Outcome outcome_of(const std::vector<std::string>& arguments) {
  std::atomic<int> mains{0};
  std::atomic<int> size{0};
  std::atomic<int> workers{0};
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.code = run_with(arguments, [&](World& world) {
    ++mains;
    size = world.size();
    workers = world.worker_count();
  });
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  outcome.mains = mains;
  outcome.size = size;
  outcome.workers = workers;
  return outcome;
}

TEST(Run, WithoutOptions_RunsOneRank) {
  const Outcome outcome = outcome_of({});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.mains, 1);
  EXPECT_EQ(outcome.size, 1);
  EXPECT_GE(outcome.workers, 1);
  EXPECT_EQ(outcome.out + outcome.err, "");
}

TEST(Run, WithRanksAndWorkers_RunsThatMany) {
  const Outcome outcome = outcome_of({"--ranks", "5", "--workers=3"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.mains, 5);
  EXPECT_EQ(outcome.size, 5);
  EXPECT_EQ(outcome.workers, 3);
}

TEST(Run, ThreadsOfWorkers_AreNamedByRankAndWorker) {
  shoal::testing::run_world(2, 1, [](shoal::World& world) {
    std::array<char, 16> name{};
    prctl(PR_GET_NAME, name.data());
    // The first thread is the program's, and keeps its name.
    if (world.rank() == 1) {
      EXPECT_STREQ(name.data(), "shoal r1 w0");
    }
  });
}

TEST(Run, WithVariables_TakesThemUnlessTheCommandLineSaysOtherwise) {
  const Variable ranks("SHOAL_RANKS", "4");
  const Variable workers("SHOAL_WORKERS", "2");
  Outcome outcome = outcome_of({});
  EXPECT_EQ(outcome.size, 4);
  EXPECT_EQ(outcome.workers, 2);
  outcome = outcome_of({"--ranks", "3"});
  EXPECT_EQ(outcome.size, 3);
  EXPECT_EQ(outcome.workers, 2);
}

TEST(Run, WithHelp_PrintsItAndRunsNothing) {
  const Outcome outcome = outcome_of({"--ranks", "4", "--help"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.mains, 0);
  EXPECT_THAT(outcome.out, HasSubstr("--ranks N"));
  EXPECT_THAT(outcome.out, HasSubstr("--workers N"));
  EXPECT_THAT(outcome.out, HasSubstr("--config FILE"));
  EXPECT_EQ(outcome.err, "");
}

TEST(Run, WithVersion_PrintsItAndRunsNothing) {
  for (const char* option : {"--version", "--shoal-version"}) {
    const Outcome outcome = outcome_of({"--ranks", "none", option});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.mains, 0);
    EXPECT_EQ(outcome.out, "shoal " SHOAL_VERSION "\n");
    EXPECT_EQ(outcome.err, "");
  }
}

TEST(Run, WithVersionBehindTheDivider_LeavesItToTheProgram) {
  EXPECT_EQ(outcome_of({"--", "--version"}).mains, 1);
}

TEST(Run, WithABadOption_Returns1WithAMessage) {
  const std::vector<std::vector<std::string>> bad{
      {"--ranks", "none"},           {"--ranks"},     {"--workers", "0"}, {"--pin", "tight"},
      {"--config", "/no/such/file"}, {"--rank", "3"},
  };
  for (const auto& arguments : bad) {
    const Outcome outcome = outcome_of(arguments);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.mains, 0);
    EXPECT_THAT(outcome.err, HasSubstr("shoal: error: "));
    EXPECT_THAT(outcome.err, HasSubstr(arguments.front().substr(2, 4)));
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(Run, WithABadVariable_Returns1WithItsName) {
  const Variable variable("SHOAL_WORKERS", "many");
  const Outcome outcome = outcome_of({});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.mains, 0);
  EXPECT_THAT(outcome.err, HasSubstr("SHOAL_WORKERS"));
}

TEST(Run, ProgressPolicies_AllRun) {
  for (const std::string policy : {"worker", "main", "thread"}) {
    const Outcome outcome = outcome_of({"--ranks", "2", "--workers", "2", "--progress", policy});
    EXPECT_EQ(outcome.code, 0) << policy;
    EXPECT_EQ(outcome.mains, 2) << policy;
  }
}

TEST(Run, ArgumentsOfTheProgram_PassThroughInOrder) {
  const int code =
      run_with({"--n", "7", "--ranks", "2", "file.txt", "--", "--ranks"}, [](World& world) {
        const std::vector<std::string> args(world.args().begin(), world.args().end());
        EXPECT_THAT(args, ElementsAre("test", "--n", "7", "file.txt", "--ranks"));
        EXPECT_EQ(world.size(), 2);
      });
  EXPECT_EQ(code, 0);
}

TEST(Run, ExitCode_IsTheLargestOfAllRanks) {
  EXPECT_EQ(
      run_world(4, 1, [](World& world) { return world.rank() == 2 ? 7 : world.rank().value(); }),
      7);
  EXPECT_EQ(run_world(4, 1, [](World&) { return 0; }), 0);
}

TEST(Run, ExitCodeOfAFailedRun_IsAtLeast1) {
  testing::internal::CaptureStderr();
  const auto fail_on_0 = [](World& world) {
    if (world.rank() == 0) throw std::runtime_error("bad day");
    return world.rank() == 1 ? 5 : 0;
  };
  EXPECT_EQ(run_world(3, 1, fail_on_0), 5);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("bad day"));
}

/// In a child process that has no room for what it prints.
template <class Print>
[[noreturn]] void run_on_full_disk(bool synced, int code, Print print) {
  std::ios::sync_with_stdio(synced);
  if (std::freopen("/dev/full", "w", stdout) == nullptr) std::_Exit(7);
  std::_Exit(run_world(2, 1, [&](World& world) {
    if (world.rank() == 1) print();
    return code;
  }));
}

TEST(Run, WhatIsPrintedAndLost_FailsTheRun) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string text = "shoal: error: cannot write to standard output: No space left on device";
  EXPECT_EXIT(run_on_full_disk(true, 0, [] { std::printf("lost\n"); }), testing::ExitedWithCode(1),
              text);
  EXPECT_EXIT(run_on_full_disk(true, 5, [] { std::cout << "lost\n"; }), testing::ExitedWithCode(5),
              text);
  EXPECT_EXIT(run_on_full_disk(false, 0, [] { std::cout << "lost\n"; }), testing::ExitedWithCode(1),
              text);
  EXPECT_EXIT(run_on_full_disk(true, 0, [] {}), testing::ExitedWithCode(0), "^$");
}

TEST(Run, EachRank_HasItsOwnCopyOfTheFunction) {
  int most = 0;
  const int code = run_world(4, 1, [count = 0, &most](World& world) mutable {
    ++count;
    if (world.rank() == 0) most = count;
    return count == 1 ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(most, 1);
}

TEST(Run, ManyTimesInOneProcess_LeavesNothingBehind) {
  for (int i = 0; i < 20; ++i) {
    std::atomic<int> ran{0};
    const int code = run_world(3, 2, [&](World& world) {
      const auto am = world.make_am([&] { ++ran; });
      for (int rank = 0; rank < world.size(); ++rank) am.send(shoal::Rank(rank));
      world.wait();
    });
    EXPECT_EQ(code, 0);
    EXPECT_EQ(ran.load(), 9);
  }
}

TEST(Run, AfterAFailedRun_TheNextOneIsClean) {
  for (int i = 0; i < 3; ++i) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_world(3, 1, [](World&) { throw 1; }), 1);
    testing::internal::GetCapturedStderr();
    EXPECT_EQ(run_world(3, 1, [](World& world) { world.wait(); }), 0);
  }
}

TEST(Run, InsideAnotherRun_WorksInAForeignThread) {
  std::atomic<int> inner{0};
  const int code = run_world(2, 1, [&](World& world) {
    std::thread([&] {
      const shoal::Hold hold = world.hold();
      EXPECT_EQ(run_world(2, 1, [&](World& other) { inner += other.size(); }), 0);
    }).join();
    world.wait();
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(inner.load(), 8);
}

Outcome outcome_with_threads(int threads, const std::vector<std::string>& arguments) {
  const shoal::testing::ThreadLimit limit(threads);
  return outcome_of(arguments);
}

TEST(Run, WithoutAThreadForEachWorker_NamesTheMissingOneAndRunsNothing) {
  // The watch has the first one.
  Outcome outcome = outcome_with_threads(5, {"--ranks", "2", "--workers", "4"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.mains, 0);
  EXPECT_THAT(outcome.err, StartsWith("shoal: error: no thread for worker 1 of rank 1: Resource "
                                      "temporarily unavailable. Raise the limit"));
  EXPECT_THAT(outcome.err, HasSubstr("--workers"));
  for (int threads = 0; threads < 8; ++threads) {
    outcome = outcome_with_threads(threads, {"--ranks", "2", "--workers", "4"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.mains, 0);
  }
  EXPECT_EQ(outcome_with_threads(8, {"--ranks", "2", "--workers", "4"}).mains, 2);
}

TEST(Run, WithoutAThreadForTheStallWatch_SaysSo) {
  const Outcome outcome = outcome_with_threads(0, {"--workers", "1"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.mains, 0);
  EXPECT_THAT(outcome.err, StartsWith("shoal: error: no thread for the watch of --stall-report: "));
}

// Each kind of code of a world calls run() again, of each kind.
TEST(Run, InsideAnotherRun_IsRefused) {
  std::atomic<int> inner{0};
  std::atomic<int> refused{0};
  const auto run_again = [&] {
    const std::vector<std::vector<std::string>> launches{
        {"--ranks", "2"}, {"--sim", "--ranks", "2"}, {"--ranks", "1", "--workers", "1"}};
    for (const auto& launch : launches) {
      if (run_with(launch, [&](World&) { ++inner; }) == 1) ++refused;
    }
  };
  testing::internal::CaptureStderr();
  for (const std::vector<std::string>& outer :
       {std::vector<std::string>{"--ranks", "2", "--workers", "2"}, {"--sim", "--ranks", "2"}}) {
    const int code = run_with(outer, [&](World& world) {
      const auto am = world.make_am(run_again);
      world.spawn(run_again);
      am.send(world.rank());
      run_again();
      world.wait();
    });
    EXPECT_EQ(code, 0);
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("shoal: error: shoal::run was called inside shoal::run"));
  EXPECT_EQ(inner, 0);
  EXPECT_EQ(refused, 2 * 2 * 3 * 3);
}

TEST(Run, OnSeveralThreadsAtOnce_RunsAWorldOnEach) {
  std::atomic<int> ran{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      EXPECT_EQ(run_world(2, 1,
                          [&](World& world) {
                            world.barrier();
                            ++ran;
                          }),
                0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ran, 6);
}

}  // namespace runtime_run_test
