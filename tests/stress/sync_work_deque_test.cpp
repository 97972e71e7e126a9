
#include "support/sizes.hpp"
#include "sync/work_deque.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

namespace sync_work_deque_test {

using shoal::testing::sized;

/// Content is written before the push and read by the taker as plain memory: under ThreadSanitizer
/// a missing order between the two is a race.
struct Item {
  int content = 0;
  std::atomic<int> taken{0};
};

using Deque = shoal::sync::WorkDeque<Item>;

void take(Item* item) {
  if (item == nullptr) return;
  EXPECT_NE(item->content, 0);
  item->taken.fetch_add(1, std::memory_order_relaxed);
}

class Thieves {
 public:
  Thieves(Deque& deque, int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this, &deque] {
        while (!ended_.load(std::memory_order_acquire)) take(deque.try_steal());
      });
    }
  }
  void end() {
    ended_.store(true, std::memory_order_release);
    for (auto& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> ended_{false};
  std::vector<std::thread> threads_;
};

int not_taken_once(const std::vector<Item>& items) {
  int wrong = 0;
  for (const Item& item : items) {
    if (item.taken.load() != 1) ++wrong;
  }
  return wrong;
}

TEST(WorkDequeStress, RandomPushesAndPops_WhileThievesSteal_TakeEachItemOnce) {
  for (const int thieves : {1, 3}) {
    const auto seed = std::random_device()();
    std::printf("seed %u\n", seed);
    SCOPED_TRACE(seed);
    std::minstd_rand random(seed);
    std::vector<Item> items(static_cast<std::size_t>(sized(400'000, 40'000)));
    Deque deque;
    Thieves pool(deque, thieves);
    for (std::size_t next = 0; next < items.size();) {
      for (auto burst = random() % 200; burst > 0 && next < items.size(); --burst) {
        items[next].content = 1;
        deque.push(&items[next++]);
      }
      for (auto burst = random() % 200; burst > 0; --burst) take(deque.try_pop());
    }
    while (deque.size_hint() > 0) take(deque.try_pop());
    pool.end();
    EXPECT_EQ(not_taken_once(items), 0);
  }
}

TEST(WorkDequeStress, OneItemAtATime_ExactlyOneWins) {
  std::vector<Item> items(static_cast<std::size_t>(sized(200'000, 20'000)));
  Deque deque;
  Thieves pool(deque, 2);
  for (Item& item : items) {
    item.content = 1;
    deque.push(&item);
    take(deque.try_pop());
    ASSERT_EQ(deque.size_hint(), 0);  // the owner's own view, once it was told "empty" or popped
  }
  pool.end();
  EXPECT_EQ(not_taken_once(items), 0);
}

TEST(WorkDequeStress, Growing_WhileThievesSteal_TakesEachItemOnce) {
  for (int round = 0; round < sized(50, 5); ++round) {
    std::vector<Item> items(5000);
    Deque deque;
    Thieves pool(deque, 2);
    for (Item& item : items) {  // the ring doubles seven times under the thieves' hands
      item.content = 1;
      deque.push(&item);
    }
    while (deque.size_hint() > 0) take(deque.try_pop());
    pool.end();
    ASSERT_EQ(not_taken_once(items), 0);
  }
}

}  // namespace sync_work_deque_test
