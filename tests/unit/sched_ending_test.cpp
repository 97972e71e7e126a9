// A task ends with the destructors of what it captured: they may wait, like the task.

#include <shoal/future.hpp>
#include <shoal/shoal.hpp>
#include <shoal/sleep.hpp>
#include <shoal/sync.hpp>
#include <shoal/task_group.hpp>

#include "support/many_orders.hpp"
#include "support/wait_world.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace sched_ending_test {

using namespace std::chrono_literals;
using shoal::Future;
using shoal::Mutex;
using shoal::Promise;
using shoal::TaskError;
using shoal::TaskGroup;
using shoal::World;
using shoal::testing::run_world;
using testing::HasSubstr;

/// Locks when it is destroyed, unless it was moved from.
class LocksAtEnd {
 public:
  LocksAtEnd(Mutex& mutex, int& ended) : mutex_(&mutex), ended_(&ended) {}
  LocksAtEnd(LocksAtEnd&& other) noexcept
      : mutex_(std::exchange(other.mutex_, nullptr)), ended_(other.ended_) {}
  LocksAtEnd& operator=(LocksAtEnd&&) = delete;
  ~LocksAtEnd() {
    if (mutex_ == nullptr) return;
    const std::lock_guard lock(*mutex_);
    ++*ended_;
  }

 private:
  Mutex* mutex_;
  int* ended_;
};

void end_while_locked(World& world) {
  Mutex mutex(world, "gate");
  int ended = 0;
  std::unique_lock lock(mutex);
  for (int i = 0; i < 10; ++i) world.spawn([at_end = LocksAtEnd(mutex, ended)] {});
  shoal::sleep_for(1ms);
  EXPECT_EQ(ended, 0);
  lock.unlock();
  world.wait();
  EXPECT_EQ(ended, 10);
}

class Ending : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Workers, Ending, testing::Values(1, 2, 8),
                         testing::PrintToStringParamName());

TEST_P(Ending, ACapturesDestructorLocks_WhatIsLocked) {
  EXPECT_EQ(run_world(1, GetParam(), end_while_locked), 0);
}

TEST_P(Ending, TheLastReferenceToAGroup_JoinsIt) {
  std::atomic<int> ended{0};
  const int code = run_world(1, GetParam(), [&](World& world) {
    world.spawn([&ended, &world] {
      auto group = std::make_shared<TaskGroup>();
      for (int i = 0; i < 10; ++i) {
        group->spawn([&ended] {
          shoal::yield();
          ++ended;
        });
      }
      world.spawn([group = std::move(group)] {});
    });
    world.wait();
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(ended, 10);
}

Future<void> wait_within_a_group(Future<int> never, std::atomic<int>& ended) {
  TaskGroup group;
  group.spawn([&ended] {
    shoal::yield();
    ++ended;
  });
  static_cast<void>(co_await std::move(never));
}

// The coroutine is destroyed where it stands: its group is joined there.
TEST_P(Ending, ACoroutineIsDropped_WhenTheWorldFails) {
  std::atomic<int> ended{0};
  const std::string text = shoal::testing::text_of<TaskError>(1, GetParam(), [&](World& world) {
    Promise<int> promise;
    const Future<void> done = wait_within_a_group(promise.future(), ended);
    world.spawn([] { throw std::runtime_error("on purpose"); });
    world.wait();
  });
  EXPECT_THAT(text, HasSubstr("on purpose"));
}

}  // namespace sched_ending_test
