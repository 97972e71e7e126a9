// Objects of one rank cannot be waited for on another one of the process: no waiter could be woken
// there.

#include <shoal/future.hpp>
#include <shoal/shoal.hpp>
#include <shoal/sync.hpp>

#include "support/refusal.hpp"
#include "support/run_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace sched_other_rank_test {

using shoal::Future;
using shoal::Mutex;
using shoal::Promise;
using shoal::World;
using shoal::testing::refusal_of;
using shoal::testing::run_world;
using testing::HasSubstr;

/// Errors of a task and of the main function of rank 1 when they call an object that rank 0 has
/// made.
template <class T>
void expect_refused(const std::function<void(World&, T*&)>& on_rank_0,
                    const std::function<void(T&)>& call, const char* text) {
  for (const int workers : {1, 2}) {
    T* shared = nullptr;  // the barriers order its uses
    const int code = run_world(2, workers, [&](World& world) {
      if (world.rank() == 0) return on_rank_0(world, shared);
      world.barrier();
      EXPECT_THAT(refusal_of([&] { call(*shared); }), HasSubstr(text));
      world.async([&] { EXPECT_THAT(refusal_of([&] { call(*shared); }), HasSubstr(text)); }).get();
      world.barrier();
      world.wait();
    });
    EXPECT_EQ(code, 0);
  }
}

TEST(OtherRank, ThatWaitsForAFuture_IsRefused) {
  expect_refused<Future<int>>(
      [](World& world, Future<int>*& shared) {
        Promise<int> promise("of rank 0");
        Future<int> future = promise.future();
        shared = &future;
        world.barrier();
        world.barrier();
        promise.set_value(7);
        EXPECT_EQ(future.get(), 7);  // the refusals have changed nothing
        world.wait();
      },
      [](Future<int>& future) { future.wait(); }, "get() of 'of rank 0' belongs to another rank");
}

TEST(OtherRank, ThatWaitsForALock_IsRefused) {
  expect_refused<Mutex>(
      [](World& world, Mutex*& shared) {
        Mutex mutex("of rank 0");
        mutex.lock();
        shared = &mutex;
        world.barrier();
        world.barrier();
        mutex.unlock();
        EXPECT_TRUE(mutex.try_lock());  // no task waits in line
        mutex.unlock();
        world.wait();
      },
      [](Mutex& mutex) { mutex.lock(); }, "lock() of mutex 'of rank 0' belongs to another rank");
}

}  // namespace sched_other_rank_test
