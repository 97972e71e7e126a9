// Failures when no memory is left.

#include <shoal/detail/base/sanitizers.hpp>
#include <shoal/shoal.hpp>

#include "env/start_thread.hpp"
#include "support/run_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <malloc.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#if !defined(SHOAL_TSAN)  // which replaces operator new itself

namespace {

/// A thread that gets no memory behind its first few allocations, until it gives back a large block
/// or, if `for_ever`, at all.
class Shortage {
 public:
  static void begin(int allocations, bool for_ever) {
    t_left = allocations;
    t_for_ever = for_ever;
  }
  /// Other threads than this one get no memory, until told otherwise.
  static void of_others(bool begins) {
    t_is_exempt = begins;
    s_of_others.store(begins);
  }
  static int refused_others() { return s_refused_others.load(); }
  static bool allows() {
    if (s_of_others.load() && !t_is_exempt) {
      s_refused_others.fetch_add(1);
      return false;
    }
    return t_left == kNone || t_left-- > 0;
  }
  static void give_back(std::size_t size_bytes) {
    constexpr std::size_t kLarge = 32UL << 10U;
    if (size_bytes >= kLarge && !t_for_ever) t_left = kNone;
  }

 private:
  static constexpr int kNone = 1 << 30;
  static inline thread_local int t_left = kNone;
  static inline thread_local bool t_for_ever = false;
  static inline thread_local bool t_is_exempt = false;
  static inline std::atomic<bool> s_of_others{false};
  static inline std::atomic<int> s_refused_others{0};
};

}  // namespace

void* operator new(std::size_t size) {
  void* const memory = Shortage::allows() ? std::malloc(size) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) Shortage::give_back(malloc_usable_size(memory));
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept { operator delete(memory); }
// The variants of the standard library call the functions above, AddressSanitizer's do not.
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return Shortage::allows() ? std::malloc(size) : nullptr;
}
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete[](void* memory) noexcept { operator delete(memory); }
void operator delete[](void* memory, std::size_t /*size*/) noexcept { operator delete(memory); }

namespace {

using shoal::Rank;
using shoal::World;
using shoal::testing::run_world;
using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kText = "the text of this error is no short one, and takes memory";
constexpr int kAllocationsMost = 40;  // more than a failure takes

/// Called where a program fails, on the last rank, with what it is to throw.
using Fail = std::function<void()>;

Fail failing_after(int allocations, bool for_ever = false) {
  return [allocations, for_ever, error = std::make_exception_ptr(std::runtime_error(kText))] {
    Shortage::begin(allocations, for_ever);
    std::rethrow_exception(error);
  };
}

void in_a_task(World& world, const Fail& fail) {
  world.spawn(fail, {.name = "the one that needs memory"});
  world.wait();
}

void in_a_handler(World& world, const Fail& fail) {
  const auto am = world.make_am([&] { fail(); }, {.name = "the one that needs memory"});
  am.send(world.rank());
  world.wait();
}

void in_the_main_function(World& /*world*/, const Fail& fail) { fail(); }

TEST(WithoutMemory, AFailure_IsToldInOrder) {
  for (const auto where : {&in_a_task, &in_a_handler, &in_the_main_function}) {
    for (const int ranks : {1, 6}) {
      for (int allocations = 0; allocations < kAllocationsMost; ++allocations) {
        const Fail fail = failing_after(allocations);
        testing::internal::CaptureStderr();
        const int code = run_world(ranks, 1, [&](World& world) {
          if (world.rank() == world.size() - 1) where(world, fail);
          world.wait();
        });
        const std::string said = testing::internal::GetCapturedStderr();
        EXPECT_EQ(code, 1);
        EXPECT_THAT(said, StartsWith("shoal: error: rank " + std::to_string(ranks - 1) + ": "));
        EXPECT_THAT(said,
                    AnyOf(HasSubstr("the one that needs memory failed: "),
                          HasSubstr("the main function failed: "), HasSubstr("a task failed: ")));
        EXPECT_THAT(said, HasSubstr(kText));
      }
    }
  }
}

TEST(WithoutMemoryDeathTest, NotEvenForTheFailure_EndsTheProcessWithAText) {
  for (const auto where : {&in_a_task, &in_a_handler, &in_the_main_function}) {
    const Fail fail = failing_after(0, true);
    EXPECT_DEATH(run_world(1, 1, [&](World& world) { where(world, fail); }),
                 "shoal: error: rank 0: .* no memory is left");
  }
}

// Each allocation of these calls fails in turn; some of them happen under a lock. The tasks of the
// rank, which the end of the main function waits for, need these locks.
using Step = std::function<void()>;
void with_shortage(const Step& step, int allocations) {
  Shortage::begin(allocations, false);  // the memory that is given back for the failure suffices
  step();
  Shortage::begin(1 << 30, false);
}

void events_without_memory(World& world, int allocations) {
  shoal::Events events(world, "mail");
  events.submit({{shoal::any, "letter"}}, [] {}, {.name = "reader", .persistent = true});
  events.fire(shoal::self, "letter");
  with_shortage(
      [&] {
        events.submit({{shoal::any, "a second letter with a long name"}}, [] {});
        events.fire(shoal::self, "a second letter with a long name");
      },
      allocations);
  world.wait();
}

void graph_without_memory(World& world, int allocations) {
  shoal::TaskGraph<std::string> graph(world, "words");
  graph.set_indegree([](const std::string&) { return 2; })
      .set_mapping([](const std::string&) { return 0; })
      .set_task([](const std::string&) {});
  const std::string key(100, 'k');
  with_shortage(
      [&] {
        for (int i = 0; i < 2; ++i) graph.fulfill(key);
      },
      allocations);
  world.wait();
}

void team_without_memory(World& world, int allocations) {
  with_shortage([&] { const shoal::Team team(world, {Rank(0)}, "a team with a long name"); },
                allocations);
  world.wait();
}

void promise_without_memory(World& world, int allocations) {
  with_shortage(
      [&] {
        for (int i = 0; i < 4; ++i) world.fulfill(world.publish(shoal::Promise<int>(world)), i);
      },
      allocations);
  world.wait();
}

TEST(WithoutMemoryDeathTest, UnderALock_EndsTheProcessWithAText) {
  constexpr int kDeathsMost = 30;
  // The second text: of a destructor.
  const char* const text =
      "^$|shoal: error: rank 0: |terminate called after throwing an instance of 'std::bad_alloc'";
  for (const auto program : {&events_without_memory, &graph_without_memory, &team_without_memory,
                             &promise_without_memory}) {
    for (int allocations = 0; allocations < kDeathsMost; ++allocations) {
      const auto run = [&] {
        std::_Exit(run_world(1, 2, [&](World& world) { program(world, allocations); }) + 2);
      };
      const auto ended = [&](int status) {
        return ::testing::KilledBySignal(SIGABRT)(status) || ::testing::ExitedWithCode(2)(status);
      };
      EXPECT_EXIT(run(), ended, text) << allocations << " allocations";
    }
  }
}

TEST(WithoutMemory, AReport_IsLeftOutWithAWarning) {
  testing::internal::CaptureStderr();
  const int code = run_world(1, 1,
                             [](World&) {
                               Shortage::of_others(true);
                               while (Shortage::refused_others() < 3) std::this_thread::yield();
                               Shortage::of_others(false);
                             },
                             {"--stall-report", "20ms"});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 0);
  EXPECT_THAT(said, HasSubstr("shoal: warning: no report was made: std::bad_alloc"));
}

TEST(WithoutMemoryDeathTest, OfAThreadThatBegins_EndsTheProcessWithItsName) {
  const auto start = [] {
    shoal::env::start_thread("worker", "worker 1 of rank 0", [] { throw std::bad_alloc(); }).join();
  };
  EXPECT_DEATH(start(), "shoal: error: worker 1 of rank 0 cannot go on: std::bad_alloc");
}

}  // namespace

#endif
