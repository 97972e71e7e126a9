// All interleavings of sync::MpscQueue's algorithm with one consumer and up to three producers.

#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdio>
#include <string>

#include "support/explorer.hpp"
#include "support/mpsc_model.hpp"

namespace sync_mpsc_queue_test {

using shoal::testing::Exploration;
using shoal::testing::explore;
using shoal::testing::MpscModel;
using Variant = MpscModel::Variant;

struct Program {
  int producers = 0;
  int pushes = 0;  // of each producer
  Variant variant = Variant::correct;
};

constexpr int kProducersMax = 3;

/// Thread 0 consumes until all have been popped; the others push.
class QueueModel {
 public:
  explicit QueueModel(const Program& program) : program_(&program), queue_(program.variant) {}
  auto operator<=>(const QueueModel&) const = default;

  [[nodiscard]] int thread_count() const { return 1 + program_->producers; }
  [[nodiscard]] bool can_step(int thread) const {
    if (thread == 0) return popped_count() < program_->producers * program_->pushes;
    return producers_[at(thread - 1)].done < program_->pushes;
  }
  void step(int thread) {
    if (thread == 0) {
      consume();
      return;
    }
    Producer& me = producers_[at(thread - 1)];
    if (queue_.step(me.push, node_of(thread - 1, me.done))) ++me.done;
  }

  [[nodiscard]] std::string broken() const {
    if (!wrong_.empty()) return wrong_;
    if (pop_.pc != 0 || !queue_.looks_empty()) return "";
    for (int p = 0; p < program_->producers; ++p) {
      if (producers_[at(p)].done > popped_[at(p)]) {
        return "looks empty, but a node of producer " + std::to_string(p) + " is in it";
      }
    }
    return "";
  }
  [[nodiscard]] std::string broken_at_end() const { return ""; }

 private:
  struct Producer {
    int done = 0;
    MpscModel::Push push;
    auto operator<=>(const Producer&) const = default;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] int node_of(int producer, int push) const {
    return 1 + producer * program_->pushes + push;
  }
  [[nodiscard]] int popped_count() const {
    int count = 0;
    for (const int popped : popped_) count += popped;
    return count;
  }

  void consume() {
    int node = 0;
    if (queue_.step(pop_, node) != MpscModel::Outcome::popped) return;
    if (node == MpscModel::kStub) {
      wrong_ = "the stub was popped";
      return;
    }
    const int producer = (node - 1) / program_->pushes;
    if (node != node_of(producer, popped_[at(producer)])) {
      wrong_ = "node " + std::to_string(node) + " was popped out of its turn";
    }
    ++popped_[at(producer)];
  }

  const Program* program_;
  MpscModel queue_;
  MpscModel::Pop pop_;
  std::array<Producer, kProducersMax> producers_;
  std::array<int, kProducersMax> popped_{};
  std::string wrong_;
};

Exploration explore_queue(const Program& program) {
  Exploration result = explore(QueueModel(program));
  std::printf("%d producers with %d pushes: %zu states\n", program.producers, program.pushes,
              result.states);
  return result;
}

TEST(MpscQueueModel, EveryNode_IsPoppedOnceInItsProducersOrder) {
  EXPECT_EQ(explore_queue({1, 4}).broken, "");
  EXPECT_EQ(explore_queue({2, 2}).broken, "");
  EXPECT_EQ(explore_queue({3, 1}).broken, "");
}

TEST(MpscQueueModel, LooksEmpty_WhenAPushRacesWithTheLastPop_TellsOfTheNodesThatAreLeft) {
  EXPECT_NE(explore_queue({2, 1, Variant::looks_at_head_alone}).broken, "");
}

TEST(MpscQueueModel, BrokenVariants_AreRejected) {
  EXPECT_NE(explore_queue({2, 1, Variant::push_links_first}).broken, "");
  EXPECT_NE(explore_queue({2, 2, Variant::pop_ignores_the_head}).broken, "");
}

}  // namespace sync_mpsc_queue_test
