// Stacks of tasks: how many there are, when there are no more, and when one overflows.

#include <shoal/future.hpp>
#include <shoal/shoal.hpp>

#include "sched/inspector.hpp"
#include "support/examples.hpp"
#include "support/run_world.hpp"
#include "support/scheduler_run.hpp"
#include "support/sizes.hpp"
#include "support/stderr_tap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace sched_stack_test {

using shoal::Promise;
using shoal::WorkerId;
using shoal::World;
using shoal::env::Guards;
using shoal::testing::examples_in;
using shoal::testing::kSanitized;
using shoal::testing::Parking;
using shoal::testing::run_world;
using shoal::testing::SchedulerRun;
using shoal::testing::sized;
using shoal::testing::small_stacks;
using shoal::testing::StderrTap;
using testing::Each;
using testing::HasSubstr;

// --- how many

/// Every worker has entered its loop, and has the stack of that.
void await_workers(SchedulerRun& run) {
  for (int worker = 0; worker < run.scheduler().worker_count(); ++worker) {
    run.submit([] {}, {.worker = worker, .bound = true});
  }
  run.finish();
}

/// Where tasks stood on the stacks of their workers.
class FramePlaces {
 public:
  explicit FramePlaces(int workers) : first_(static_cast<std::size_t>(workers), nullptr) {}
  /// Notes a frame of a worker; on its thread.
  void note(int worker, const void* frame) {
    const void*& first = first_[static_cast<std::size_t>(worker)];
    if (first == nullptr) first = frame;
    const auto distance =
        reinterpret_cast<std::intptr_t>(first) - reinterpret_cast<std::intptr_t>(frame);
    if (std::abs(distance) > kLoopBytes) ++others_;
    ++count_;
  }
  [[nodiscard]] int count() const { return count_; }
  /// How many stood on another stack than the first one of the same worker.
  [[nodiscard]] int others() const { return others_; }

 private:
  // Below a task stand the few frames of the worker's loop, by one of two ways.
  static constexpr std::intptr_t kLoopBytes = 4096;

  std::vector<const void*> first_;
  std::atomic<int> count_{0};
  std::atomic<int> others_{0};
};

/// A task that never blocks, and makes `children` of its kind.
struct Visit {
  SchedulerRun& run;
  FramePlaces& places;
  int children = 0;
  void operator()() const {
    places.note(run.scheduler().count_slot(), __builtin_frame_address(0));
    for (int i = 0; i < children; ++i) run.submit(Visit{run, places});
  }
};

class Stacks : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Workers, Stacks, testing::Values(1, 2, 8),
                         testing::PrintToStringParamName());

// A switch would put the task, or the next one, on another stack: to a fiber of its own or, in the
// first worker, to the one that is kept for the main function.
TEST_P(Stacks, OfTasksThatNeverBlock_AreThoseOfTheWorkersAndNoneIsLeft) {
  constexpr int kTasks = sized(100'000, 10'000);
  constexpr int kChildren = 9;
  SchedulerRun run(GetParam());
  await_workers(run);
  FramePlaces places(GetParam());
  for (int i = 0; i < kTasks / (kChildren + 1); ++i) run.submit(Visit{run, places, kChildren});
  run.finish();
  EXPECT_EQ(places.count(), kTasks);
  EXPECT_EQ(places.others(), 0);
  EXPECT_EQ(run.scheduler().inspector().stack_count(), static_cast<std::size_t>(GetParam()) + 1);
}

/// Stacks of a scheduler of which a worker has so many tasks parked at once, several times.
std::size_t stacks_with_parked(int workers, int worker, int tasks) {
  SchedulerRun run(workers);
  await_workers(run);
  Parking parking(run.scheduler().env());
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < tasks; ++i) {
      run.submit([&parking] { parking.stand(); }, {.worker = worker, .bound = true});
    }
    parking.await(round * tasks);
    parking.wake_all();
    run.finish();
  }
  return run.scheduler().inspector().stack_count();
}

TEST(StacksOfAWorker, WithTasksThatBlock_AreAsManyAsStandAtOnce) {
  for (const std::size_t tasks : {1U, 2U, 7U, 100U}) {
    const int count = static_cast<int>(tasks);
    // The first worker's second stack, which is kept for the main function, is used first.
    EXPECT_EQ(stacks_with_parked(1, 0, count), 1 + tasks);
    EXPECT_EQ(stacks_with_parked(3, 2, count), 3 + 1 + tasks);
  }
}

// --- no more stacks

TEST(NoMoreStacks, WhenATaskWaits_FailTheTask) {
  for (const int workers : {1, 2}) {
    shoal::sched::SchedulerOptions options = small_stacks(workers);
    options.guards = Guards::mapped;
    options.mapped_guards_max = 12;
    SchedulerRun run(options);
    constexpr int kTasks = 50;
    std::optional<Promise<void>> promise(std::in_place, run.scheduler());
    auto future = promise->future();
    std::atomic<int> ended{0};
    std::atomic<int> begun{0};
    for (int i = 0; i < kTasks; ++i) {
      run.submit([&] {
        ++begun;
        try {
          future.wait();
          ++ended;
        } catch (...) {
          run.scope().record(std::current_exception());
        }
      });
    }
    while (begun < kTasks || !run.scheduler().waiting().count()) std::this_thread::yield();
    while (run.scope().failures().size() + run.scheduler().waiting().count() < kTasks) {
      std::this_thread::yield();
    }
    EXPECT_THAT(run.scope().failures(),
                Each(testing::AllOf(HasSubstr("no stack for another task that waits: 12"),
                                    HasSubstr("vm.max_map_count"))));
    EXPECT_GE(run.scope().failures().size(), 38U);
    promise->set_value();
    run.finish();
    EXPECT_EQ(static_cast<std::size_t>(ended) + run.scope().failures().size(), 50U);
    // There are stacks again.
    bool waited = false;
    run.submit([&] {
      Promise<void> later;
      auto next = later.future();
      run.submit([&later] { later.set_value(); });
      next.get();
      waited = true;
    });
    run.finish();
    EXPECT_TRUE(waited);
  }
}

// --- overflow

/// Frames of about `kBytes`, of which only the low end is touched.
template <std::size_t kBytes>
[[gnu::noinline]] int descend(int depth) {
  std::array<char, kBytes> frame;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  frame[0] = static_cast<char>(depth);
  asm volatile("" : : "r"(frame.data()) : "memory");
  const int below = depth == 0 ? 0 : descend<kBytes>(depth - 1);
  asm volatile("" : : "r"(frame.data()) : "memory");
  return below + 1;
}

constexpr std::size_t kKiB = 1024;

/// On a stack of 128 KiB.
template <std::size_t kBytes>
void overflow_in_task(Guards guards) {
  shoal::sched::SchedulerOptions options = small_stacks(2);
  options.guards = guards;
  SchedulerRun run(options);
  run.submit([] { descend<kBytes>(1000); }, {.worker = 1, .bound = true});
  run.finish();
}

/// Tests that expect a task to die of its stack.
class StackOverflowDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "the sanitizer has its own words for it";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

TEST_F(StackOverflowDeathTest, OfATask_IsSaidWithItsPlace) {
  constexpr const char* kText =
      "error: the stack of a task on rank 0, worker 1 has overflowed: "
      "its 128 KiB are full. Choose a larger --stack-bytes";
  for (const Guards guards : {Guards::automatic, Guards::mapped}) {
    EXPECT_DEATH(overflow_in_task<256>(guards), kText);
    EXPECT_DEATH(overflow_in_task<16 * kKiB>(guards), kText);
    EXPECT_DEATH(overflow_in_task<28 * kKiB>(guards), kText);
    EXPECT_DEATH(overflow_in_task<62 * kKiB>(guards), kText);
  }
}

TEST_F(StackOverflowDeathTest, OnAStackThatWasParked_IsSaid) {
  EXPECT_DEATH(run_world(1, 1,
                         [](World& world) {
                           world.async([] {}).get();
                           descend<16 * kKiB>(1000);
                         }),
               "the stack of a task on rank 0, worker 0 has overflowed: its 8192 KiB are full");
}

TEST_F(StackOverflowDeathTest, OfAHandler_IsSaid) {
  EXPECT_DEATH(run_world(1, 1,
                         [](World& world) {
                           const auto message = world.make_am([] { descend<16 * kKiB>(1000); });
                           message.send(world.rank());
                           world.wait();
                         }),
               "the stack of a handler on rank 0, worker 0 has overflowed");
}

TEST(StackSize, ExamplesInTheErrorAboutATooSmallOne_AreTaken) {
  StderrTap tap;
  EXPECT_EQ(run_world(1, 1, [](World&) {}, {"--stack-bytes", "1"}), 1);
  const std::string said = tap.stop();
  const std::vector<std::string> examples = examples_in(said);
  EXPECT_FALSE(examples.empty()) << said;
  for (const std::string& size : examples) {
    const auto program = [](World& world) { world.async([] { shoal::yield(); }).get(); };
    EXPECT_EQ(run_world(1, 1, program, {"--stack-bytes", size}), 0) << size;
  }
}

// --- signals that others send

class SentSignalDeathTest : public StackOverflowDeathTest {};

TEST_F(SentSignalDeathTest, ToAWorld_KillsItAtOnce) {
  for (const int signal : {SIGSEGV, SIGBUS}) {
    const auto program = [signal](World& world) {
      world.spawn([signal] { kill(getpid(), signal); });
      world.wait();
    };
    EXPECT_EXIT(run_world(1, 1, program), testing::KilledBySignal(signal), "^$");
    EXPECT_EXIT(run_world(1, 1, [signal](World&) { std::raise(signal); }),
                testing::KilledBySignal(signal), "^$");
  }
}

TEST_F(SentSignalDeathTest, FaultElsewhere_KillsByTheSameSignal) {
  EXPECT_EXIT(run_world(1, 1,
                        [](World&) {
                          static volatile int* volatile nowhere = nullptr;
                          *nowhere = 1;
                        }),
              testing::KilledBySignal(SIGSEGV), "");
}

volatile std::sig_atomic_t g_signals = 0;
void count_signal(int /*signal*/) { g_signals = g_signals + 1; }

TEST_F(SentSignalDeathTest, WithAHandlerOfTheProgram_GoesToThatEachTime) {
  for (const int signal : {SIGSEGV, SIGBUS}) {
    g_signals = 0;
    const auto before = std::signal(signal, &count_signal);
    EXPECT_EQ(run_world(1, 1,
                        [signal](World&) {
                          for (int i = 1; i <= 3; ++i) {
                            std::raise(signal);
                            EXPECT_EQ(g_signals, i);
                          }
                        }),
              0);
    std::signal(signal, SIG_IGN);
    EXPECT_EQ(run_world(1, 1, [signal](World&) { std::raise(signal); }), 0);
    std::signal(signal, before);
  }
}

TEST_F(StackOverflowDeathTest, WithALargerStack_DoesNotHappen) {
  constexpr int kDepth = 64;
  const auto program = [](World& world) {
    int depth = 0;
    world.spawn([&depth] { depth = descend<16 * kKiB>(kDepth); });
    world.wait();
    EXPECT_EQ(depth, kDepth + 1);
  };
  EXPECT_DEATH(run_world(1, 1, program, {"--stack-bytes", "64K"}), "its 64 KiB are full");
  EXPECT_EQ(run_world(1, 1, program, {"--stack-bytes", "8M"}), 0);
}

}  // namespace sched_stack_test
