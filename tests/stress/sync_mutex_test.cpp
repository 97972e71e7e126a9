// The locks let one thread in at a time, and lose no sleeper.

#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/sync/store_release_mutex.hpp>

#include "support/sizes.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <type_traits>
#include <vector>

namespace sync_mutex_test {

using shoal::sync::PlainMutex;
using shoal::sync::PlainStoreReleaseMutex;

constexpr int kRounds = shoal::testing::sized(20000, 2000);

/// Runs `round` in many more threads than there are cores.
template <class F>
void in_threads(F round) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&round] {
      for (int k = 0; k < kRounds; ++k) round(k);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// As where there is no asymmetric barrier.
class SymmetricMutex : public PlainStoreReleaseMutex {
 public:
  SymmetricMutex() : PlainStoreReleaseMutex(false) {}
};

template <class M>
class MutexStress : public ::testing::Test {};
using Locks = ::testing::Types<PlainMutex, PlainStoreReleaseMutex, SymmetricMutex>;
TYPED_TEST_SUITE(MutexStress, Locks);

TYPED_TEST(MutexStress, CountedUnderTheLock_NothingIsLost) {
  TypeParam mutex;
  long count = 0;
  in_threads([&](int /*round*/) {
    mutex.lock();
    ++count;
    mutex.unlock();
  });
  EXPECT_EQ(count, 8L * kRounds);
}

TYPED_TEST(MutexStress, HeldForLong_SleepersAreWoken) {
  TypeParam mutex;
  long count = 0;
  in_threads([&](int round) {
    mutex.lock();
    if (round % 64 == 0) std::this_thread::yield();  // the others go to sleep
    ++count;
    mutex.unlock();
  });
  EXPECT_EQ(count, 8L * kRounds);
}

TYPED_TEST(MutexStress, Tried_OneAtATime) {
  TypeParam mutex;
  std::atomic<int> inside{0};
  std::atomic<long> refused{0};
  in_threads([&](int round) {
    if (round % 2 == 0) {
      mutex.lock();
    } else if (!mutex.try_lock()) {
      ++refused;
      return;
    }
    EXPECT_EQ(++inside, 1);
    --inside;
    mutex.unlock();
  });
  if (!mutex.try_lock()) FAIL();
  EXPECT_FALSE(mutex.try_lock());
  mutex.unlock();
}

}  // namespace sync_mutex_test
