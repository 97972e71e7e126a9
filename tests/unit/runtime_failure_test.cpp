// Exceptions in a task, a handler or a main function reach every rank, and nothing hangs.

#include <shoal/detail/base/sanitizers.hpp>
#include <shoal/shoal.hpp>

#include "support/run_world.hpp"
#include "support/sizes.hpp"
#include "support/turn_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace runtime_failure_test {

using shoal::Delivery;
using shoal::Rank;
using shoal::TaskError;
using shoal::World;
using shoal::testing::run_world;
using shoal::testing::sized;
using testing::HasSubstr;

struct Shape {
  int ranks;
  int workers;
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.ranks << " ranks, " << shape.workers << " workers";
}

/// Error caught by one rank's main function; equal on all ranks, except where main itself threw.
struct Caught {
  int rank = -1;
  std::string task_name;
  std::string text;
  bool operator==(const Caught&) const = default;
};

/// Runs `body` and a wait() on all ranks: a TaskError is expected from one of them on every rank.
/// Returns what the ranks caught, after checking that it is the same.
Caught failure_of(const Shape& shape, const std::function<void(World&)>& body,
                  const std::vector<std::string>& more = {}) {
  std::vector<std::optional<Caught>> caught(static_cast<std::size_t>(shape.ranks));
  testing::internal::CaptureStderr();
  const int code = run_world(
      shape.ranks, shape.workers,
      [&](World& world) {
        try {
          body(world);
          world.wait();
        } catch (const TaskError& error) {
          caught[static_cast<std::size_t>(world.rank())] = {error.rank(), error.task_name(),
                                                            error.text()};
          throw;
        }
      },
      more);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 1);
  for (const auto& one : caught) {
    EXPECT_TRUE(one.has_value());
    EXPECT_EQ(one, caught.front());
  }
  const Caught first = caught.front().value_or(Caught{});
  // Reported once by all ranks together.
  const std::string line = "shoal: error: rank " + std::to_string(first.rank) + ": " +
                           first.task_name + " failed: " + first.text + "\n";
  EXPECT_EQ(said, line);
  return first;
}

class Failure : public testing::TestWithParam<Shape> {
 protected:
  Caught fail(const std::function<void(World&)>& body, const std::vector<std::string>& more = {}) {
    return failure_of(GetParam(), body, more);
  }
  [[nodiscard]] int last() const { return GetParam().ranks - 1; }
  [[nodiscard]] int middle() const { return GetParam().ranks / 2; }
};

TEST_P(Failure, ATaskThrows_EveryRankHearsRankNameAndText) {
  const Caught caught = fail([this](World& world) {
    if (world.rank() != last()) return;
    world.spawn([] { throw std::runtime_error("out of luck"); }, {.name = "gambler"});
  });
  EXPECT_EQ(caught, (Caught{last(), "gambler", "out of luck"}));
}

TEST_P(Failure, AGraphTaskThrows_IsNamedByItsKey) {
  const Caught caught = fail([this](World& world) {
    shoal::TaskGraph<std::pair<int, int>> graph(world, "gemm");
    graph.set_indegree([](const auto&) { return 2; })
        .set_mapping([](const auto&) { return 0; })
        .set_task([](const auto& key) { throw std::invalid_argument(std::to_string(key.second)); });
    if (world.rank() == middle()) graph.fulfill({3, 4}, 2);
    world.wait();
  });
  EXPECT_EQ(caught, (Caught{middle(), "gemm[(3, 4)]", "4"}));
}

TEST_P(Failure, AnInlineHandlerThrows_EveryRankHearsItsName) {
  const Caught caught = fail([this](World& world) {
    const auto am = world.make_am([](int x) { throw std::runtime_error(std::to_string(x)); },
                                  {.name = "thrower"});
    if (world.rank() == 0) am.send(Rank(last()), 42);
    world.wait();
  });
  EXPECT_EQ(caught, (Caught{last(), "thrower", "42"}));
}

TEST_P(Failure, AHandlerDeliveredAsTaskThrows_EveryRankHearsItsName) {
  const Caught caught = fail([this](World& world) {
    const auto am = world.make_am([](const std::string& text) { throw std::logic_error(text); },
                                  {.delivery = Delivery::task, .name = "late thrower"});
    if (world.rank() == last()) am.send(Rank(0), "as a task");
    world.wait();
  });
  EXPECT_EQ(caught, (Caught{0, "late thrower", "as a task"}));
}

void static_thrower(int x) {
  if (x > 0) throw std::out_of_range("x is positive");
}

TEST_P(Failure, AStaticHandlerThrows_IsNamedByItsFunction) {
  const Caught caught = fail([this](World& world) {
    world.send(Rank(last()), shoal::am<static_thrower>, -1);
    if (world.rank() == 0) world.send(Rank(last()), shoal::am<static_thrower>, 1);
  });
  EXPECT_EQ(caught.rank, last());
  EXPECT_THAT(caught.task_name, HasSubstr("static_thrower"));
  EXPECT_EQ(caught.text, "x is positive");
}

TEST_P(Failure, SomethingThatIsNoException_IsReportedByItsType) {
  const Caught caught = fail([this](World& world) {
    if (world.rank() == middle()) world.spawn([] { throw 42; }, {.name = "number"});
  });
  EXPECT_EQ(caught, (Caught{middle(), "number", "an exception of type int"}));
  const Caught text = fail([this](World& world) {
    if (world.rank() == middle()) world.spawn([] { throw std::string("why"); }, {.name = "text"});
  });
  EXPECT_EQ(text, (Caught{middle(), "text", "an exception of type std::string"}));
}

TEST_P(Failure, OnAllRanksAtOnce_OneOfThemIsChosenForAll) {
  const Caught caught = fail([](World& world) {
    const std::string mine = std::to_string(world.rank());
    for (int i = 0; i < 5; ++i) {
      world.spawn([mine] { throw std::runtime_error(mine); }, {.name = "task " + mine});
    }
  });
  EXPECT_EQ(caught.text, std::to_string(caught.rank));
  EXPECT_EQ(caught.task_name, "task " + caught.text);
}

TEST_P(Failure, AMainFunctionThrows_TheOthersHearOfIt) {
  std::vector<std::string> texts(static_cast<std::size_t>(GetParam().ranks));
  testing::internal::CaptureStderr();
  const int code = run_world(GetParam().ranks, GetParam().workers, [&](World& world) {
    if (world.rank() == middle()) throw std::runtime_error("no main");
    try {
      world.wait();
    } catch (const TaskError& error) {
      EXPECT_EQ(error.rank(), middle());
      texts[static_cast<std::size_t>(world.rank())] = error.task_name() + ": " + error.text();
      throw;
    }
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 1);
  texts[static_cast<std::size_t>(middle())] = "the main function: no main";
  EXPECT_THAT(texts, testing::Each("the main function: no main"));
  EXPECT_EQ(said, "shoal: error: rank " + std::to_string(middle()) +
                      ": the main function failed: no main\n");
}

TEST_P(Failure, OthersInsideCollectives_AreReleasedWithTheError) {
  const std::vector<std::function<void(World&)>> operations{
      [](World& world) { world.barrier(); },
      [](World& world) { (void)world.allreduce(1, std::plus<>()); },
      [](World& world) { (void)world.allgather(1); },
  };
  for (const auto& operation : operations) {
    const Caught caught = fail([&](World& world) {
      if (world.rank() == middle()) {
        world.spawn([] { throw std::runtime_error("not today"); }, {.name = "spoiler"});
        world.wait();
      }
      operation(world);
    });
    EXPECT_EQ(caught, (Caught{middle(), "spoiler", "not today"}));
  }
}

TEST_P(Failure, Caught_LaterWaitsAndBarriersThrowTheSame) {
  std::atomic<int> thrown{0};
  testing::internal::CaptureStderr();
  const int code = run_world(GetParam().ranks, GetParam().workers, [&](World& world) {
    if (world.rank() == 0) world.spawn([] { throw std::runtime_error("once"); });
    for (int i = 0; i < 3; ++i) {
      try {
        world.wait();
      } catch (const TaskError& error) {
        EXPECT_EQ(error.text(), "once");
        ++thrown;
      }
    }
    if (world.size() == 1) return;  // a barrier of one rank has nothing to wait for
    EXPECT_THROW(world.barrier(), TaskError);
  });
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 0);  // every main function was told and went on
  EXPECT_EQ(thrown.load(), 3 * GetParam().ranks);
}

TEST_P(Failure, DuringAFloodWithASmallWindow_EndsIt) {
  const int count = sized(3000, 500);
  const Caught caught = fail(
      [&](World& world) {
        std::atomic<int> seen{0};
        const auto am = world.make_am(
            [&](const std::vector<int>&) {
              if (++seen == count / 2) throw std::runtime_error("enough");
            },
            {.delivery = world.rank() % 2 == 0 ? Delivery::inlined : Delivery::task,
             .name = "flood"});
        const std::vector<int> values(20);
        world.barrier();
        for (int i = 0; i < count; ++i) {
          am.send(Rank((world.rank() + 1 + i % 3) % world.size()), values);
        }
        world.wait();
      },
      {"--window-bytes", "2K", "--packet-bytes", "512"});
  EXPECT_EQ(caught.task_name, "flood");
  EXPECT_EQ(caught.text, "enough");
}

// Rank 0's main function has filled the window and cannot go on when the last rank fails.
TEST_P(Failure, WhileAMainFunctionIsSuspendedInSend_ReleasesIt) {
  if (GetParam().ranks == 1) GTEST_SKIP();
  constexpr int kFill = 2048 / (512 + 128);  // sends that the window has room for, at least
  std::atomic<int> sent{0};
  const Caught caught = fail(
      [&](World& world) {
        const auto am =
            world.make_am([](const std::vector<char>&) {}, {.delivery = Delivery::task});
        world.barrier();
        if (world.rank() == 0) {
          for (int i = 0; i < 1000; ++i, ++sent) am.send(Rank(last()), std::vector<char>(512));
        } else if (world.rank() == last()) {
          while (sent.load() < kFill) std::this_thread::yield();
          world.spawn([] { throw std::runtime_error("full"); }, {.name = "dam"});
        }
        world.wait();
      },
      {"--window-bytes", "2K", "--packet-bytes", "512"});
  EXPECT_EQ(caught, (Caught{last(), "dam", "full"}));
}

TEST_P(Failure, OfEachFunctionOfALargeMessage_EveryRankHearsItsName) {
  for (const std::string at : {"buffer", "arrival", "release"}) {
    const auto maybe_throw = [&at](const char* here) {
      if (at == here) throw std::runtime_error(here);
    };
    const Caught caught = fail([&](World& world) {
      std::vector<double> place(1000);
      const auto large = world.make_large_am<double>(
          [&](std::size_t count) {
            maybe_throw("buffer");
            return std::span(place).first(count);
          },
          [&](std::span<double>) { maybe_throw("arrival"); }, [&] { maybe_throw("release"); },
          {.name = "tile"});
      const std::vector<double> payload(1000, 1.0);
      if (world.rank() == 0) large.send(Rank(last()), payload);
      world.wait();
    });
    EXPECT_EQ(caught, (Caught{at == "release" ? 0 : last(), "tile", at}));
  }
}

TEST_P(Failure, WithLargeMessagesUnderWay_EndsAllTheSame) {
  const Caught caught = fail([&](World& world) {
    std::vector<double> place(10'000);
    const auto large = world.make_large_am<double>(
        [&](std::size_t count, int) { return std::span(place).first(count); },
        [&](std::span<double>, int i) {
          if (i == 20) throw std::runtime_error("twenty");
        },
        [](int) {}, {.delivery = Delivery::task, .name = "tile"});
    const std::vector<double> payload(10'000, 1.0);
    world.barrier();
    for (int i = 0; i < 40; ++i) large.send(Rank((world.rank() + 1) % world.size()), payload, i);
    try {
      world.wait();
    } catch (const TaskError&) {
      throw;  // payload and place are destroyed: they are no longer used
    }
  });
  EXPECT_EQ(caught.task_name, "tile");
  EXPECT_EQ(caught.text, "twenty");
}

// --- what is dropped is destroyed

class Tracked {
 public:
  explicit Tracked(std::atomic<int>& live) : live_(&live) { ++*live_; }
  Tracked(const Tracked& other) : live_(other.live_) { ++*live_; }
  Tracked& operator=(const Tracked&) = delete;
  ~Tracked() { --*live_; }

 private:
  std::atomic<int>* live_;
};

TEST_P(Failure, CapturesOfDroppedTasks_AreDestroyedBeforeWaitThrows) {
  std::atomic<int> live{0};
  std::atomic<int> ran{0};
  fail([&](World& world) {
    world.barrier();
    // Worker 0 is busy with this main function: its tasks wait, unless another worker takes them.
    if (world.rank() == last()) {
      world.spawn([] { throw std::runtime_error("stop"); }, {.priority = 1, .name = "stopper"});
    }
    for (int i = 0; i < 200; ++i) {
      world.spawn([tracked = Tracked(live), &ran] { ++ran; }, {.worker = shoal::WorkerId(0)});
    }
    EXPECT_THROW(world.wait(), TaskError);
    world.wait();
  });
  EXPECT_EQ(live.load(), 0);
}

/// A message argument that counts its live objects.
struct Counted {
  static inline std::atomic<int> live{0};
  int number = 0;
  Counted() { ++live; }
  Counted(const Counted& other) : number(other.number) { ++live; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --live; }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(number);
  }
};

TEST_P(Failure, ArgumentsOfDroppedMessages_AreDestroyed) {
  const Caught caught = fail([&](World& world) {
    const auto am = world.make_am(
        [&](const std::vector<Counted>& items, const shoal::Immutable<Counted>&) {
          if (items.size() == 3) throw std::runtime_error("three");
        },
        {.delivery = world.rank() % 2 == 0 ? Delivery::task : Delivery::inlined, .name = "items"});
    const auto shared = shoal::make_immutable<Counted>();
    for (int i = 0; i < 100; ++i) {
      std::vector<Counted> items(static_cast<std::size_t>(i % 40));
      am.send(Rank((world.rank() + i) % world.size()), std::move(items), shared);
    }
    world.wait();
  });
  EXPECT_EQ(caught.text, "three");
  EXPECT_EQ(Counted::live.load(), 0);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Failure,
                         testing::Values(Shape{1, 1}, Shape{1, 3}, Shape{2, 1}, Shape{4, 2},
                                         Shape{9, 1}));

TEST(FailureLater, AfterSeveralGoodWaits_IsStillHeard) {
  failure_of({3, 2}, [](World& world) {
    for (int i = 0; i < 5; ++i) {
      world.spawn([] {});
      world.wait();
    }
    if (world.rank() == 1) world.spawn([] { throw std::runtime_error("late"); }, {.name = "late"});
  });
}

TEST(FailureWithoutWait, OfATaskLeftByMain_FailsTheRun) {
  testing::internal::CaptureStderr();
  const int code = run_world(3, 1, [](World& world) {
    if (world.rank() == 2) world.spawn([] { throw std::runtime_error("orphan"); });
  });
  EXPECT_EQ(code, 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "shoal: error: rank 2: task failed: orphan\n");
}

TEST(FailureOfAForeignThread, InItsOwnHands_DoesNotTouchTheWorld) {
  const int code = run_world(2, 1, [](World& world) {
    std::thread([&] {
      const shoal::Hold hold = world.hold();
      EXPECT_THROW(world.spawn([] {}, {.bound = true}), shoal::CheckError);
    }).join();
    world.wait();
  });
  EXPECT_EQ(code, 0);
}

// --- the end of the process

TEST(End, FailureThatSomeRanksCatch_IsWrittenOnceAndEndsWithOne) {
  testing::internal::CaptureStderr();
  const int code = run_world(3, 1, [](World& world) {
    if (world.rank() == 0) world.spawn([] { throw std::runtime_error("no more bananas"); });
    if (world.rank() == 2) return world.wait();
    EXPECT_THROW(world.wait(), TaskError);
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 1);
  EXPECT_THAT(said, HasSubstr("no more bananas"));
  EXPECT_EQ(said.find("error:"), said.rfind("error:")) << said;
}

TEST(End, ErrorThatAllMainFunctionsCatch_IsNotWritten) {
  for (const bool is_stuck : {false, true}) {
    testing::internal::CaptureStderr();
    const int code = run_world(3, 1, [is_stuck](World& world) {
      shoal::Promise<int> promise;
      if (world.rank() == 1) {
        world.spawn([is_stuck, future = promise.future()]() mutable {
          if (!is_stuck) throw std::runtime_error("no more bananas");
          static_cast<void>(future.get());
        });
      }
      if (is_stuck) {
        EXPECT_THROW(world.wait(), shoal::StuckError);
      } else {
        EXPECT_THROW(world.wait(), TaskError);
      }
      return world.rank() == 2 ? 7 : 0;
    });
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(code, 7);
  }
}

TEST(End, SameErrorOfAllMainFunctions_IsWrittenOnce) {
  for (const bool in_own_words : {false, true}) {
    testing::internal::CaptureStderr();
    const int code = run_world(4, 1, [in_own_words](World& world) {
      if (!in_own_words) throw std::runtime_error("no more pears");
      if (world.rank() == 0) world.spawn([] { throw std::runtime_error("no more pears"); });
      try {
        world.wait();
      } catch (const TaskError& error) {
        throw std::runtime_error(error.what());
      }
    });
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(code, 1);
    EXPECT_THAT(said, HasSubstr("failed: no more pears\n"));
    EXPECT_EQ(said.find("error:"), said.rfind("error:")) << said;
  }
}

TEST(End, DifferentErrorsOfMainFunctions_AreWrittenWithTheirRanks) {
  testing::internal::CaptureStderr();
  const int code = run_world(
      3, 1, [](World& world) { throw std::runtime_error("file " + std::to_string(world.rank())); });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 1);
  for (const std::string rank : {"0", "1", "2"}) {
    EXPECT_THAT(said, HasSubstr("shoal: error: rank " + rank + ": the main function failed: file " +
                                rank + "\n"));
  }
}

// Tasks stand parked on one rank only, and the main functions stand in this or that.
TEST(End, StuckErrorThatMainFunctionsCatch_EndsThemWell) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const int ranks = 2 + static_cast<int>(seed % 5);
    const auto result =
        shoal::testing::run_turns({.seed = seed, .ranks = ranks, .workers = 2}, [&](World& world) {
          shoal::Promise<int> promise;
          shoal::Promise<int> of_task;
          const bool waits = world.rank() == static_cast<int>(seed / 5) % ranks;
          if (waits) {
            world.spawn([future = of_task.future()]() mutable { static_cast<void>(future.get()); });
          }
          try {
            if ((seed + static_cast<unsigned>(world.rank().value())) % 3 == 0) {
              static_cast<void>(promise.future().get());
            } else {
              world.wait();
            }
            ADD_FAILURE() << "nothing was thrown";
          } catch (const shoal::StuckError&) {
            return 0;
          }
          return 2;
        });
    for (int rank = 0; rank < ranks; ++rank) {
      const auto index = static_cast<std::size_t>(rank);
      EXPECT_EQ(result.errors[index], nullptr)
          << "seed " << seed << ", rank " << rank << ": " << shoal::describe(result.errors[index]);
      EXPECT_EQ(result.exit_codes[index], 0);
    }
  }
}

TEST(End, NegativeResultOfAMainFunction_IsNotLost) {
  EXPECT_EQ(run_world(3, 1, [](World& world) { return world.rank() == 1 ? -1 : 0; }), -1);
  EXPECT_EQ(run_world(3, 1, [](World& world) { return world.rank() == 1 ? -1 : world.rank(); }), 2);
}

TEST(End, TaskThatCannotBeNamed_IsAFailureAllTheSame) {
  const Caught caught = failure_of({2, 1}, [](World& world) {
    if (world.rank() != 0) return;
    shoal::TaskGraph<int> graph_here(world);
    graph_here.set_indegree([](int) { return 1; })
        .set_mapping([](int) { return 0; })
        .set_task([](int) { throw std::runtime_error("in the task"); })
        .set_name([](int) -> std::string { throw std::runtime_error("in the name"); });
    graph_here.fulfill(1);
    world.wait();
  });
  EXPECT_THAT(caught.task_name, HasSubstr("in the name"));
  EXPECT_EQ(caught.text, "in the task");
}

#if !defined(SHOAL_ASAN) && !defined(SHOAL_TSAN)  // which have handlers of their own

void write_to(std::uintptr_t address) { *reinterpret_cast<volatile int*>(address) = 1; }

TEST(CrashDeathTest, InCodeOfTheProgram_NamesWhatRanWhere) {
  constexpr std::uintptr_t kNowhere = 16;
  const auto crash = [](const std::function<void(World&)>& function) {
    run_world(2, 1, [&](World& world) {
      if (world.rank() == 1) function(world);
      world.wait();
    });
  };
  const std::string begin = "shoal: error: segmentation fault \\(SIGSEGV\\) at address 0x10 in ";
  const std::string end = " on rank 1, worker 0\nshoal: error: its name: ";
  EXPECT_DEATH(crash([](World& world) {
                 world.spawn([] { write_to(kNowhere); }, {.name = "careless"});
                 world.wait();
               }),
               begin + "a task" + end + "'careless'");
  EXPECT_DEATH(crash([](World& world) {
                 const auto am = world.make_am([] { write_to(kNowhere); }, {.name = "touch"});
                 am.send(world.rank());
                 world.wait();
               }),
               begin + "a handler" + end + "'touch'");
  EXPECT_DEATH(crash([](World&) { write_to(kNowhere); }),
               begin + "a task" + end + "'the main function'");
  EXPECT_DEATH(crash([](World& world) {
                 shoal::TaskGraph<int> graph(world, "mesh");
                 graph.set_indegree([](int) { return 1; })
                     .set_mapping([](int) { return 0; })
                     .set_task([](int) { write_to(kNowhere); });
                 graph.fulfill(1);
                 world.wait();
               }),
               begin + "a task" + end + "'mesh'");
}

/// A page of a file that was truncated: an access is a bus error.
volatile std::byte* page_behind_end_of_file() {
  constexpr std::size_t kSizeBytes = 4096;
  const int file = memfd_create("truncated", MFD_CLOEXEC);
  if (ftruncate(file, kSizeBytes) != 0) throw std::runtime_error("no file in memory");
  void* const memory = mmap(nullptr, kSizeBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED || ftruncate(file, 0) != 0) throw std::runtime_error("no such memory");
  close(file);
  return static_cast<volatile std::byte*>(memory);
}

TEST(CrashDeathTest, BusErrorInATask_NamesItsRankAndKillsBySigbus) {
  EXPECT_EXIT(run_world(2, 1,
                        [](World& world) {
                          if (world.rank() == 1) {
                            world.spawn([] { *page_behind_end_of_file() = std::byte{1}; },
                                        {.name = "writes to a file"});
                          }
                          world.wait();
                        }),
              testing::KilledBySignal(SIGBUS),
              "shoal: error: bus error \\(SIGBUS\\) at address 0x[0-9a-f]+ in a task on rank 1, "
              "worker 0\nshoal: error: its name: 'writes to a file'");
}

#endif

}  // namespace runtime_failure_test
