// The order of events, where messages overtake each other as they like.

#include "event/order.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace event_order_test {

using shoal::Rank;
using shoal::event::Content;
using shoal::event::Inbox;
using shoal::event::Outbox;
using shoal::event::Parcel;
using shoal::event::SharedContent;

SharedContent content_from(int source, int number) {
  auto content = std::make_shared<Content>();
  content->source = Rank(source);
  content->name = std::to_string(number);
  return content;
}

/// Ranks whose messages wait in one pool and are handled in a random order.
class Ranks {
 public:
  Ranks(int size, std::uint64_t seed) : size_(size), random_(seed) {
    for (int rank = 0; rank < size; ++rank) {
      outboxes_.emplace_back(Rank(rank), size);
      inboxes_.emplace_back(Rank(rank), size);
    }
    fired_.resize(square());
    delivered_.resize(square());
  }

  void fire_some() {
    const int source = below(size_);
    Outbox& outbox = outboxes_[at(source)];
    const int number = next_number_++;
    if (below(4) == 0) {
      for (int target = 0; target < size_; ++target) {
        if (target != source) fired_[pair(source, target)].push_back(number);
      }
      const Parcel parcel = outbox.to_all(content_from(source, number));
      for (int target = 0; target < size_; ++target) {
        if (target != source) under_way_.emplace_back(Rank(target), parcel);
      }
      return;
    }
    const int target = (source + 1 + below(size_ - 1)) % size_;
    fired_[pair(source, target)].push_back(number);
    under_way_.emplace_back(Rank(target),
                            outbox.to_one(Rank(target), content_from(source, number)));
  }

  void handle_one() {
    if (under_way_.empty()) return;
    std::swap(under_way_[at(below(static_cast<int>(under_way_.size())))], under_way_.back());
    const auto [target, parcel] = std::move(under_way_.back());
    under_way_.pop_back();
    inboxes_[at(target)].accept(parcel, [&, to = target.value()](const SharedContent& content) {
      delivered_[pair(content->source, to)].push_back(std::stoi(content->name));
    });
  }

  void run(int events) {
    for (int i = 0; i < events; ++i) {
      fire_some();
      for (int j = below(4); j > 0; --j) handle_one();
    }
    while (!under_way_.empty()) handle_one();
  }

  void check() const {
    EXPECT_EQ(delivered_, fired_);
    for (const Inbox& inbox : inboxes_) {
      EXPECT_EQ(inbox.held_count(), 0U);
      EXPECT_TRUE(inbox.held_sources().empty());
    }
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  [[nodiscard]] std::size_t square() const { return at(size_) * at(size_); }
  [[nodiscard]] std::size_t pair(int source, int target) const {
    return at(source) * at(size_) + at(target);
  }
  int below(int end) { return static_cast<int>(random_() % static_cast<std::uint64_t>(end)); }

  const int size_;
  std::mt19937_64 random_;
  std::vector<Outbox> outboxes_;
  std::vector<Inbox> inboxes_;
  std::vector<std::pair<Rank, Parcel>> under_way_;
  std::vector<std::vector<int>> fired_;
  std::vector<std::vector<int>> delivered_;
  int next_number_ = 0;
};

TEST(EventOrder, WhateverOvertakesWhatever_EachPairOfRanksKeepsTheOrderFired) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Ranks ranks(2 + static_cast<int>(seed % 12), seed);
    ranks.run(200);
    ranks.check();
  }
}

TEST(EventOrder, AnEarlyEvent_IsHeldAndItsSourceNamed) {
  Outbox outbox(Rank(2), 4);
  Inbox inbox(Rank(1), 4);
  std::vector<std::string> seen;
  const auto deliver = [&](const SharedContent& content) { seen.push_back(content->name); };
  const Parcel one = outbox.to_one(Rank(1), content_from(2, 1));
  const Parcel all = outbox.to_all(content_from(2, 2));
  const Parcel last = outbox.to_one(Rank(1), content_from(2, 3));
  inbox.accept(last, deliver);
  inbox.accept(all, deliver);
  EXPECT_EQ(inbox.held_count(), 2U);
  EXPECT_EQ(inbox.held_sources(), std::vector<Rank>{Rank(2)});
  EXPECT_TRUE(seen.empty());
  inbox.accept(one, deliver);
  EXPECT_EQ(seen, (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_EQ(inbox.held_count(), 0U);
}

TEST(EventOrder, EventsToAll_CarryEntriesOfRanksFiredToSinceTheLastOne) {
  Outbox outbox(Rank(0), 8);
  static_cast<void>(outbox.to_one(Rank(5), content_from(0, 0)));
  static_cast<void>(outbox.to_one(Rank(5), content_from(0, 1)));
  static_cast<void>(outbox.to_one(Rank(3), content_from(0, 2)));
  const Parcel first = outbox.to_all(content_from(0, 3));
  ASSERT_EQ(first.before.size(), 2U);
  EXPECT_EQ(first.before[0].rank, 3);
  EXPECT_EQ(first.before[1].one_count, 2U);
  EXPECT_TRUE(outbox.to_all(content_from(0, 4)).before.empty());
}

}  // namespace event_order_test
