
#include <shoal/detail/sync/mpsc_queue.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace sync_mpsc_queue_test {

using shoal::sync::MpscNode;
using shoal::sync::MpscQueue;

struct Node : MpscNode {
  int value = 0;
};

int pop_value(MpscQueue& queue) {
  MpscNode* const node = queue.try_pop();
  return node == nullptr ? -1 : static_cast<Node*>(node)->value;
}

TEST(MpscQueue, WhenNew_IsEmpty) {
  MpscQueue queue;
  EXPECT_TRUE(queue.looks_empty());
  EXPECT_EQ(queue.try_pop(), nullptr);
  EXPECT_TRUE(queue.looks_empty());
}

TEST(MpscQueue, HandsOutNodesInOrder_AndLooksEmptyAfterTheLast) {
  std::vector<Node> nodes(5);
  MpscQueue queue;
  for (int i = 0; i < 5; ++i) {
    nodes[static_cast<std::size_t>(i)].value = i;
    queue.push(&nodes[static_cast<std::size_t>(i)]);
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(queue.looks_empty());
    EXPECT_EQ(pop_value(queue), i);
  }
  EXPECT_TRUE(queue.looks_empty());
  EXPECT_EQ(queue.try_pop(), nullptr);
}

TEST(MpscQueue, APoppedNode_MayBePushedAgainAtOnce) {
  Node a;
  Node b;
  a.value = 1;
  b.value = 2;
  MpscQueue queue;
  queue.push(&a);
  for (int round = 0; round < 100; ++round) {
    queue.push(&b);
    EXPECT_EQ(pop_value(queue), 1);
    EXPECT_FALSE(queue.looks_empty());
    queue.push(&a);
    EXPECT_EQ(pop_value(queue), 2);
    EXPECT_FALSE(queue.looks_empty());
  }
  EXPECT_EQ(pop_value(queue), 1);
  EXPECT_TRUE(queue.looks_empty());
  for (int round = 0; round < 100; ++round) {
    queue.push(&a);
    EXPECT_EQ(pop_value(queue), 1);
    EXPECT_TRUE(queue.looks_empty());
  }
}

TEST(MpscQueue, NodesLeftInIt_AreNotItsOwn) {
  Node node;
  {
    MpscQueue queue;
    queue.push(&node);
  }
  MpscQueue other;
  other.push(&node);
  EXPECT_EQ(other.try_pop(), &node);
}

}  // namespace sync_mpsc_queue_test
