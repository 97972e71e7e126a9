#include <shoal/detail/sync/mpsc_queue.hpp>

#include "support/sizes.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace sync_mpsc_queue_test {

using shoal::sync::MpscNode;
using shoal::sync::MpscQueue;
using shoal::testing::sized;

struct Node : MpscNode {
  int producer = 0;  // plain memory: ThreadSanitizer checks that the push publishes it
  int number = 0;
};

class Producers {
 public:
  Producers(MpscQueue& queue, int count, int each) {
    for (int p = 0; p < count; ++p) {
      nodes_.emplace_back(static_cast<std::size_t>(each));
    }
    for (int p = 0; p < count; ++p) {
      threads_.emplace_back([this, &queue, p] {
        int number = 0;
        for (Node& node : nodes_[static_cast<std::size_t>(p)]) {
          node.producer = p;
          node.number = number++;
          queue.push(&node);
        }
      });
    }
  }
  ~Producers() {
    for (auto& thread : threads_) thread.join();
  }

 private:
  std::vector<std::vector<Node>> nodes_;
  std::vector<std::thread> threads_;
};

TEST(MpscQueueStress, NodesOfManyProducers_ComeOnceInTheOrderOfEach) {
  constexpr int kProducers = 4;
  constexpr int kEach = sized(200'000, 20'000);
  MpscQueue queue;
  const Producers producers(queue, kProducers, kEach);
  std::vector<int> next(kProducers, 0);
  for (int popped = 0; popped < kProducers * kEach;) {
    auto* const node = static_cast<Node*>(queue.try_pop());
    if (node == nullptr) continue;
    ++popped;
    ASSERT_EQ(node->number, next[static_cast<std::size_t>(node->producer)]++);
  }
  EXPECT_EQ(queue.try_pop(), nullptr);
  EXPECT_TRUE(queue.looks_empty());
}

TEST(MpscQueueStress, APushAnnouncedAsComplete_IsNeverOverlooked) {
  // The producers announce each push; then the queue must not look empty before the node is popped.
  constexpr int kProducers = 3;
  constexpr int kEach = sized(100'000, 10'000);
  MpscQueue queue;
  std::vector<std::vector<Node>> nodes;
  for (int p = 0; p < kProducers; ++p) nodes.emplace_back(static_cast<std::size_t>(kEach));
  std::atomic<int> announced{0};
  std::vector<std::thread> threads;
  for (auto& mine : nodes) {
    threads.emplace_back([&queue, &announced, &mine] {
      for (Node& node : mine) {
        queue.push(&node);
        announced.fetch_add(1);
      }
    });
  }
  int overlooked = 0;
  for (int popped = 0; popped < kProducers * kEach;) {
    const int complete = announced.load();
    if (complete > popped && queue.looks_empty()) ++overlooked;
    if (queue.try_pop() != nullptr) ++popped;
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(overlooked, 0);
}

TEST(MpscQueueStress, OneNodePushedAgainAsSoonAsItIsPopped_IsNeverLost) {
  constexpr int kProducers = 3;
  constexpr int kRounds = sized(10'000, 2000);
  MpscQueue queue;
  std::vector<Node> nodes(kProducers);
  std::vector<std::atomic<bool>> in_queue(kProducers);
  std::vector<std::thread> threads;
  for (int p = 0; p < kProducers; ++p) {
    threads.emplace_back([&, p] {
      Node& node = nodes[static_cast<std::size_t>(p)];
      std::atomic<bool>& mine = in_queue[static_cast<std::size_t>(p)];
      node.producer = p;
      for (int round = 0; round < kRounds; ++round) {
        mine.store(true, std::memory_order_relaxed);
        queue.push(&node);
        while (mine.load(std::memory_order_acquire)) std::this_thread::yield();
      }
    });
  }
  for (int popped = 0; popped < kProducers * kRounds;) {
    auto* const node = static_cast<Node*>(queue.try_pop());
    if (node == nullptr) {
      std::this_thread::yield();
      continue;
    }
    ++popped;
    in_queue[static_cast<std::size_t>(node->producer)].store(false, std::memory_order_release);
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(queue.looks_empty());
}

}  // namespace sync_mpsc_queue_test
