

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <deque>
#include <random>
#include <vector>

#include "sync/work_deque.hpp"

namespace sync_work_deque_test {

using Deque = shoal::sync::WorkDeque<int>;

/// Items that stay where they are.
std::vector<int> make_items(int count) {
  std::vector<int> items(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) items[static_cast<std::size_t>(i)] = i;
  return items;
}

TEST(WorkDeque, WhenNew_IsEmpty) {
  Deque deque;
  EXPECT_EQ(deque.size_hint(), 0);
  EXPECT_EQ(deque.try_pop(), nullptr);
  EXPECT_EQ(deque.try_steal(), nullptr);
  EXPECT_EQ(deque.size_hint(), 0);
}

TEST(WorkDeque, TheOwner_PopsTheNewestFirst) {
  auto items = make_items(3);
  Deque deque;
  for (int& item : items) deque.push(&item);
  EXPECT_EQ(deque.size_hint(), 3);
  for (const int expected : {2, 1, 0}) EXPECT_EQ(*deque.try_pop(), expected);
  EXPECT_EQ(deque.try_pop(), nullptr);
}

TEST(WorkDeque, AThief_TakesTheOldestFirst) {
  auto items = make_items(3);
  Deque deque;
  for (int& item : items) deque.push(&item);
  for (const int expected : {0, 1, 2}) EXPECT_EQ(*deque.try_steal(), expected);
  EXPECT_EQ(deque.try_steal(), nullptr);
}

TEST(WorkDeque, TheLastItem_IsTakenOnce) {
  auto items = make_items(1);
  Deque deque;
  for (int round = 0; round < 100; ++round) {
    deque.push(&items[0]);
    EXPECT_EQ(round % 2 == 0 ? deque.try_pop() : deque.try_steal(), &items[0]);
    EXPECT_EQ(round % 3 == 0 ? deque.try_pop() : deque.try_steal(), nullptr);
    EXPECT_EQ(deque.size_hint(), 0);
  }
}

TEST(WorkDeque, Growing_KeepsAllItemsInOrder) {
  auto items = make_items(10'000);  // far beyond the first ring
  Deque deque;
  std::size_t next = 0;
  int stolen = 0;
  for (; next < 40; ++next) deque.push(&items[next]);
  for (; stolen < 30; ++stolen) ASSERT_EQ(*deque.try_steal(), stolen);  // the ring is used round
  for (; next < items.size(); ++next) deque.push(&items[next]);
  for (; stolen < 5000; ++stolen) ASSERT_EQ(*deque.try_steal(), stolen);
  for (int expected = 9999; expected >= 5000; --expected) ASSERT_EQ(*deque.try_pop(), expected);
  EXPECT_EQ(deque.try_pop(), nullptr);
  EXPECT_EQ(deque.try_steal(), nullptr);
}

TEST(WorkDeque, RandomOperationsOfOneThread_AgreeWithAReference) {
  const auto seed = std::random_device()();
  std::printf("seed %u\n", seed);
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  auto items = make_items(5000);
  Deque deque;
  std::deque<int*> expected;
  for (int step = 0; step < 50'000; ++step) {
    const bool growing = step / 5000 % 2 == 0;
    if (random() % 10 < (growing ? 6U : 3U)) {
      int* const item = &items[random() % items.size()];
      deque.push(item);
      expected.push_back(item);
    } else if (random() % 2 == 0) {
      ASSERT_EQ(deque.try_pop(), expected.empty() ? nullptr : expected.back());
      if (!expected.empty()) expected.pop_back();
    } else {
      ASSERT_EQ(deque.try_steal(), expected.empty() ? nullptr : expected.front());
      if (!expected.empty()) expected.pop_front();
    }
    ASSERT_EQ(deque.size_hint(), static_cast<std::int64_t>(expected.size()));
  }
}

}  // namespace sync_work_deque_test
