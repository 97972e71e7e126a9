// shoal::Runtime: work that threads of the program give to the ranks of their process.

#include <shoal/future.hpp>
#include <shoal/runtime.hpp>
#include <shoal/shoal.hpp>

#include "support/failed_runs.hpp"
#include "support/refusal.hpp"
#include "support/sizes.hpp"
#include "support/trace_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace runtime_embedding_test {

using shoal::Rank;
using shoal::Runtime;
using shoal::World;
using shoal::testing::said_by;
using shoal::testing::sized;
using shoal::testing::text_of;
using ::testing::HasSubstr;

TEST(Runtime, RunsTasksOfAnyThread) {
  Runtime runtime({.ranks = 2, .workers = 2});
  EXPECT_EQ(runtime.size(), 2);
  std::atomic<int> sum{0};
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        sum += runtime.async(Rank(i % 2), [i] { return i; }).get();
        runtime.spawn([&sum] { ++sum; });
      }
    });
  }
  threads.clear();
  runtime.stop();  // waits for what was spawned
  EXPECT_EQ(sum, 4 * (4950 + 100));
}

TEST(Runtime, TasksMayGiveItWork) {
  Runtime runtime({.ranks = 2, .workers = 1});
  auto outer = runtime.async([&] {
    return runtime.async([] { return 5; }).get() +
           runtime.async(Rank(0), [] { return 2; }, {.priority = 1, .name = "inner"}).get();
  });
  EXPECT_EQ(outer.get(), 7);
}

TEST(Runtime, RunsMainFunctionsOnAllRanks) {
  Runtime runtime({.ranks = 3, .workers = 2});
  for (int i = 0; i < 20; ++i) {
    const int sum = runtime.run(
        [i](World& world) { return world.allreduce(world.rank().value() + i, std::plus<>()); });
    EXPECT_EQ(sum, 3 + 3 * i);
  }
  std::atomic<int> tasks{0};
  runtime.run([&](World& world) { world.spawn([&] { ++tasks; }); });
  EXPECT_EQ(tasks, 3);  // they have ended
}

TEST(Runtime, SectionsOfSeveralThreadsFollowEachOther) {
  Runtime runtime({.ranks = 2, .workers = 1});
  std::atomic<int> inside{0};
  std::atomic<bool> met{false};
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        runtime.run([&](World& world) {
          if (++inside > 2) met = true;
          world.barrier();
          --inside;
          world.barrier();
        });
      }
    });
  }
  threads.clear();
  EXPECT_FALSE(met);
}

TEST(Runtime, StartsAndStopsManyTimesAndSeveralAtOnce) {
  for (int i = 0; i < 30; ++i) {
    Runtime one({.ranks = 2, .workers = 2});
    Runtime other({.workers = 1});
    EXPECT_EQ(one.async([] { return 1; }).get() + other.async([] { return 2; }).get(), 3);
    EXPECT_EQ(one.run([](World& world) { return world.size(); }), 2);
    EXPECT_TRUE(one.is_running());
    one.stop();
    EXPECT_FALSE(one.is_running());
    one.stop();
    EXPECT_EQ(other.run([](World& world) { return world.size(); }), 1);
  }
}

TEST(Runtime, ErrorsOfTasksGoToTheirFutures) {
  Runtime runtime;
  auto future = runtime.async([]() -> int { throw std::runtime_error("bad apple"); });
  EXPECT_EQ(text_of<std::runtime_error>([&] { future.get(); }), "bad apple");
  EXPECT_EQ(runtime.async([] { return 3; }).get(), 3);
}

TEST(Runtime, ErrorsOfMainFunctionsComeOutOfRun) {
  Runtime runtime({.ranks = 2, .workers = 1, .name = "solver"});
  const auto fails = [&] {
    runtime.run([](World& world) {
      if (world.rank() == 1) throw std::out_of_range("row 7");
      world.barrier();
    });
  };
  EXPECT_EQ(text_of<std::out_of_range>(fails), "row 7");
  EXPECT_FALSE(runtime.is_running());
  const auto again = [&] { static_cast<void>(runtime.async([] { return 1; })); };
  EXPECT_EQ(text_of<shoal::Error>(again),
            "shoal::Runtime 'solver' has failed: row 7; make a new one");
  EXPECT_THAT(text_of<shoal::Error>(fails), HasSubstr("has failed: row 7"));
  runtime.stop();  // the error was thrown
}

TEST(Runtime, ErrorsOfTasksWithoutFutureComeOutOfStop) {
  Runtime runtime({.workers = 1});
  runtime.spawn([] { throw std::runtime_error("bad apple"); }, {.name = "picker"});
  EXPECT_THAT(text_of<shoal::TaskError>([&] { runtime.stop(); }), HasSubstr("bad apple"));
  EXPECT_EQ(text_of<shoal::Error>([&] { runtime.spawn([] {}); }).substr(0, 34),
            "shoal::Runtime 'a runtime' has fai");
}

TEST(Runtime, ErrorsThatNobodyTookAreWrittenAtItsEnd) {
  const auto said = said_by([] {
    Runtime runtime({.workers = 1, .name = "service"});
    runtime.spawn([] { throw std::runtime_error("bad apple"); });
    return 0;
  });
  EXPECT_THAT(said.text, HasSubstr("shoal: error: shoal::Runtime 'service': "));
  EXPECT_THAT(said.text, HasSubstr("bad apple"));
}

TEST(Runtime, AStuckSectionIsNamed) {
  Runtime runtime({.ranks = 2, .workers = 1});
  const auto stuck = [&] {
    runtime.run([](World& world) {
      shoal::Promise<int> promise(world);
      auto future = promise.future();
      if (world.rank() == 1) world.spawn([f = std::move(future)]() mutable { f.get(); });
      world.wait();
    });
  };
  EXPECT_THAT(text_of<shoal::StuckError>(stuck), HasSubstr("get() of 'promise of int'"));
}

TEST(Runtime, RefusesWhatItCannotDo) {
  const auto made = [](shoal::RuntimeOptions options) {
    return text_of<shoal::ConfigError>([&] { const Runtime runtime(options); });
  };
  EXPECT_THAT(made({.name = "gui", .options = {"--sim"}}),
              HasSubstr("shoal::Runtime 'gui': threads of the program call it"));
  EXPECT_THAT(made({.options = {"--info"}}), HasSubstr("are for programs that call shoal::run()"));
  EXPECT_THAT(made({.options = {"verbose"}}), HasSubstr("'verbose' is no option of shoal"));
  EXPECT_THAT(made({.ranks = -2}), HasSubstr("--ranks"));
  EXPECT_THAT(made({.workers = -1}), HasSubstr("--workers"));

  Runtime runtime({.ranks = 2, .workers = 1, .name = "gui"});
  EXPECT_THAT(text_of<shoal::CheckError>([&] { static_cast<void>(runtime.async(Rank(2), [] {})); }),
              HasSubstr("shoal::Runtime 'gui' has the ranks 0 to 1, but no rank 2"));
  const auto in_task = [&](std::function<void()> call) {
    return text_of<shoal::CheckError>([&] { runtime.async(std::move(call)).get(); });
  };
  EXPECT_THAT(in_task([&] { runtime.stop(); }),
              HasSubstr("stop() of shoal::Runtime 'gui' was called in a task"));
  EXPECT_THAT(in_task([&] { runtime.run([](World&) {}); }), HasSubstr("run() of shoal::Runtime"));
  EXPECT_THAT(in_task([] { const Runtime inner; }), HasSubstr("The constructor of shoal::Runtime"));
  runtime.stop();
  EXPECT_THAT(text_of<shoal::Error>([&] { runtime.run([](World&) {}); }),
              HasSubstr("was stopped; make a new one"));
}

TEST(Runtime, StallReportsAreForWorkOnly) {
  using std::chrono::milliseconds;
  const auto said = said_by([] {
    Runtime runtime({.ranks = 2, .workers = 1, .options = {"--stall-report", "50ms"}});
    std::this_thread::sleep_for(milliseconds(500));
    return 0;
  });
  EXPECT_EQ(said.text, "");
  const auto waits = said_by([] {
    Runtime runtime({.workers = 1, .options = {"--stall-report", "50ms"}});
    std::optional<shoal::Promise<int>> promise;
    runtime.async([&] { promise.emplace(); }).get();
    auto future = promise->future();
    const std::jthread releases([&] {
      std::this_thread::sleep_for(milliseconds(500));
      runtime.spawn([&] { promise->set_value(1); });
    });
    return future.get() - 1;
  });
  EXPECT_THAT(waits.text, HasSubstr("a thread of the program"));
  EXPECT_THAT(waits.text, HasSubstr("get() of 'promise of int'"));
}

/// Waits until standard error, which is captured, has all parts, or for a minute.
void wait_for_text(const std::vector<std::string>& parts) {
  for (int i = 0; i < 6000; ++i) {
    std::ifstream captured("/proc/self/fd/2");
    const std::string text(std::istreambuf_iterator<char>(captured), {});
    const auto is_there = [&](const std::string& part) { return text.find(part) != text.npos; };
    if (std::all_of(parts.begin(), parts.end(), is_there)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

/// Text that a Runtime of two ranks, which reports often, writes while `program` uses it.
std::string reported_by(const std::function<void(Runtime&)>& program) {
  return said_by([&] {
           Runtime runtime({.ranks = 2, .workers = 1, .options = {"--stall-report", "50ms"}});
           program(runtime);
           return 0;
         })
      .text;
}

TEST(Runtime, StallReports_HaveTheWordsOfARuntime) {
  using ::testing::AllOf;
  using ::testing::Not;
  const auto has_no_main = AllOf(Not(HasSubstr("main function")), Not(HasSubstr("wait()")));
  const auto awaits = [](const char* text) { return [text] { wait_for_text({text}); }; };
  const std::string in_task = reported_by([&](Runtime& runtime) {
    runtime.async(Rank(1), awaits("runs the task 'slow'"), {.name = "slow"}).get();
  });
  EXPECT_THAT(in_task, AllOf(HasSubstr("rank 1: no run() is under way"), has_no_main));
  const std::string in_stop = reported_by([&](Runtime& runtime) {
    runtime.spawn(awaits("rank 1: in stop()"));
    runtime.stop();
  });
  EXPECT_THAT(in_stop, AllOf(HasSubstr("rank 1: in stop()"), has_no_main));
  // There is no task: only the function of run() on rank 1 is at work.
  const char* const late =
      "\n  wait() or the end of run() of the world: reached by rank 0, not by "
      "rank 1\n";
  const std::string in_run = reported_by([&](Runtime& runtime) {
    runtime.run([&](World& world) {
      if (world.rank() == 1) wait_for_text({late});
    });
  });
  EXPECT_THAT(in_run, AllOf(HasSubstr(late),
                            HasSubstr("rank 0: function of run(): in wait(), or "
                                      "ended"),
                            Not(HasSubstr("main function"))));
}

std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// How often each thread of the library has gone to sleep. ThreadSanitizer has one of its own.
struct Sleeps {
  std::map<std::string, std::uint64_t> others;
  std::uint64_t watch = 0;
};
Sleeps sleeps() {
  Sleeps result;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string name = contents(task.path() / "comm");
    if (!name.starts_with("shoal ")) continue;
    const std::string status = contents(task.path() / "status");
    constexpr std::string_view kField = "\nvoluntary_ctxt_switches:";
    const std::uint64_t count = std::stoull(status.substr(status.find(kField) + kField.size()));
    if (name.starts_with("shoal watch")) {
      result.watch = count;
    } else {
      result.others[name + task.path().filename().string()] = count;
    }
  }
  return result;
}

// docs/embedding.md says 0.1 % of a processor, which bench.idle measures over a minute. Here is the
// reason: workers sleep without a timer, and the watch wakes up once a second.
TEST(Runtime, IdleWorkersHaveNoTimer) {
  using std::chrono::seconds;
  Runtime runtime({.ranks = 2, .workers = 2});
  for (int rank = 0; rank < 2; ++rank) runtime.async(Rank(rank), [] {}).get();
  Sleeps before = sleeps();
  bool are_asleep = false;
  for (int look = 0; look < 20 && !are_asleep; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    Sleeps now = sleeps();
    are_asleep = now.others == before.others;
    before = std::move(now);
  }
  ASSERT_TRUE(are_asleep);
  ASSERT_GE(before.others.size(), 3U);  // a thread for each worker but perhaps one
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(seconds(4));
  const Sleeps after = sleeps();
  const auto idle = std::chrono::ceil<seconds>(std::chrono::steady_clock::now() - begin);
  EXPECT_EQ(after.others, before.others);
  EXPECT_LE(after.watch - before.watch, static_cast<std::uint64_t>(idle.count()) + 1);
  EXPECT_EQ(runtime.async([] { return 1; }).get(), 1);
}

// The thread leaves the rank that it waits on after the task has ended, perhaps behind stop().
TEST(Runtime, AThreadThatWaitsWhileItIsStopped_GetsItsValue) {
  for (int round = 0; round < sized(200, 50); ++round) {
    std::jthread client;
    std::atomic<int> value{0};
    std::atomic<bool> open{false};
    {
      Runtime runtime({.workers = 1});
      auto future = runtime.async([&open] {
        while (!open) shoal::yield();
        return 1;
      });
      client = std::jthread([&value, &open, future = std::move(future)]() mutable {
        open = true;
        value = future.get();
      });
      while (!open) std::this_thread::yield();
      runtime.stop();
    }
    client.join();
    ASSERT_EQ(value, 1);
  }
}

TEST(Runtime, AGroupThatIsKeptLonger_RefusesCalls) {
  std::optional<shoal::TaskGroup> group;
  {
    Runtime runtime({.workers = 1});
    runtime.run([&](World&) { group.emplace("kept"); });
  }
  const auto refused = HasSubstr("the group 'kept' is used after its run() has returned");
  EXPECT_THAT(text_of<shoal::CheckError>([&] { group->cancel(); }), refused);
  EXPECT_THAT(text_of<shoal::CheckError>([&] { group->spawn([] {}); }), refused);
  EXPECT_THAT(text_of<shoal::CheckError>([&] { group->spawn([] {}, {.priority = 1}); }), refused);
}

TEST(Runtime, AThreadThatWaitsForWhatNeverComes_IsToldWhenItIsStopped) {
  for (const bool timed : {false, true}) {
    std::optional<shoal::Promise<int>> promise;
    std::string text;
    std::jthread client;
    {
      Runtime runtime({.workers = 1});
      runtime.run([&](World& world) { promise.emplace(world); });
      std::atomic<bool> waits{false};
      client = std::jthread([&, future = promise->future()]() mutable {
        waits = true;
        text = text_of<shoal::Error>([&] {
          if (timed) static_cast<void>(future.wait_for(std::chrono::hours(1)));
          static_cast<void>(future.get());
        });
      });
      while (!waits) std::this_thread::yield();
      runtime.stop();
    }
    client.join();
    EXPECT_THAT(text, ::testing::AnyOf(HasSubstr("the run has ended, and nothing ends the wait"),
                                       HasSubstr("is used after its run() has returned")));
    promise.reset();
  }
}

TEST(Runtime, OneRecordsATraceAtATime) {
  const shoal::testing::TemporaryFolder folder;
  const auto traced = [&](const char* name) {
    return shoal::RuntimeOptions{
        .workers = 1, .name = name, .options = {"--trace", folder.file(name)}};
  };
  {
    Runtime first(traced("first"));
    EXPECT_THAT(text_of<shoal::Error>([&] { const Runtime second(traced("second")); }),
                HasSubstr("first"));
    first.async([] {}).get();
  }
  EXPECT_TRUE(std::filesystem::exists(folder.file("first")));
  Runtime third(traced("third"));
  third.stop();
  EXPECT_TRUE(std::filesystem::exists(folder.file("third")));
}

TEST(Runtime, ASignalIsAnsweredByEach) {
  const std::vector<std::string> wanted = {"report of 1 rank", "report of 2 ranks"};
  const auto said = said_by([&] {
    const Runtime one({.workers = 1, .options = {"--stall-report", "1h"}});
    const Runtime other({.ranks = 2, .workers = 1, .options = {"--stall-report", "1h"}});
    std::raise(SIGUSR1);
    wait_for_text(wanted);
    return 0;
  });
  for (const std::string& part : wanted) EXPECT_THAT(said.text, HasSubstr(part));
}

TEST(RuntimeDeathTest, ExitWithWorkIsAnError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Runtime runtime({.workers = 1});
        runtime.spawn([] { shoal::sleep_for(std::chrono::seconds(5)); });
        std::exit(0);
      },
      ::testing::ExitedWithCode(1), "while a shoal::Runtime still had work, which is lost");
  EXPECT_EXIT(
      {
        static Runtime idle({.workers = 1});  // its destructor stops it
        idle.async([] {}).get();
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

/// Calls `destroy` somewhere on a worker; the process ends there, or by an alarm.
void expect_refused_end(const std::function<void(std::optional<Runtime>&)>& destroy,
                        const std::string& place) {
  EXPECT_EXIT(
      {
        alarm(30);
        std::optional<Runtime> runtime(
            std::in_place, shoal::RuntimeOptions{.ranks = 2, .workers = 1, .name = "gui"});
        destroy(runtime);
        pause();
      },
      ::testing::KilledBySignal(SIGABRT),
      "error: shoal::Runtime 'gui' was destroyed in a task, a main function or a handler [(]" +
          place + "[)]: .* Destroy it on a thread of the program");
}

TEST(RuntimeDeathTest, DestroyedOnAWorker_ItEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  expect_refused_end(
      [](std::optional<Runtime>& runtime) {
        runtime->spawn([&runtime] { runtime.reset(); }, {.name = "quit"});
      },
      "'quit', on rank 0");
  expect_refused_end(
      [](std::optional<Runtime>& runtime) {
        runtime->run([&runtime](World& world) {
          const auto quit = world.make_am([&runtime](int) { runtime.reset(); }, {.name = "bye"});
          if (world.rank() == 0) quit.send(Rank(1), 1);
          world.wait();
        });
      },
      "'bye', on rank 1");
  expect_refused_end(
      [](std::optional<Runtime>& runtime) {
        runtime->run([&runtime](World& world) {
          if (world.rank() == 1) runtime.reset();
          world.barrier();
        });
      },
      "'the main function', on rank 1");
  expect_refused_end(
      [](std::optional<Runtime>& runtime) {
        Runtime other({.workers = 1});
        other.async([&runtime] { runtime.reset(); }, {.name = "reader"}).get();
      },
      "'reader', on rank 0");
}

TEST(Runtime, StoppedBefore_ItMayBeDestroyedInATask) {
  std::optional<Runtime> runtime(std::in_place, shoal::RuntimeOptions{.workers = 1});
  runtime->stop();
  Runtime other({.workers = 1});
  const auto said = said_by([&] {
    other.async([&runtime] { runtime.reset(); }).get();
    return 0;
  });
  EXPECT_EQ(said.text, "");
}

}  // namespace runtime_embedding_test
