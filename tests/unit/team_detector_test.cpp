// The detection protocol, message by message.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "team/detector.hpp"

namespace team_detector_test {

using shoal::Rank;
using shoal::team::Confirmation;
using shoal::team::Counts;
using shoal::team::Detector;
using shoal::team::DetectorHost;
using shoal::team::Report;
using shoal::team::Request;
using shoal::team::Snapshot;
using shoal::team::Tree;
using testing::ElementsAre;
using testing::IsEmpty;

/// Notes what a rank sends; the test carries it on.
class Host final : public DetectorHost {
 public:
  Host(int rank, int size) : detector(Tree{Rank(rank), size}, *this) {}

  std::optional<Snapshot> snapshot() override { return now; }
  void send_report(Rank, const Report& report) override { reports.push_back(report); }
  void send_request(Rank child, const Request& request) override {
    requested.push_back(child.value());
    requests.push_back(request);
  }
  void send_confirmation(Rank, const Confirmation& confirmation) override {
    confirmations.push_back(confirmation);
  }
  void completed(const Counts& total) override {
    totals.push_back(total);
    detector.begin_epoch();
  }
  void set(std::uint64_t queued, std::uint64_t processed, std::uint64_t tasks = 0) {
    now = Snapshot{{queued, processed, 0, false}, tasks, 1};
  }

  Detector detector;
  std::optional<Snapshot> now;
  std::vector<Report> reports;
  std::vector<int> requested;
  std::vector<Request> requests;
  std::vector<Confirmation> confirmations;
  std::vector<Counts> totals;
};

TEST(Tree, ParentsAndChildren_FitTogetherForEverySize) {
  for (int size = 1; size < 100; ++size) {
    std::vector<int> parents(static_cast<std::size_t>(size), -1);
    for (int rank = 0; rank < size; ++rank) {
      const Tree tree{Rank(rank), size};
      EXPECT_EQ(tree.is_root(), rank == 0);
      const std::vector<Rank> children = tree.children();
      for (std::size_t i = 0; i < children.size(); ++i) {
        EXPECT_EQ(tree.child_index(children[i]), i);
        EXPECT_EQ((Tree{children[i], size}.parent()), rank);
        parents[static_cast<std::size_t>(children[i])] = rank;
      }
    }
    parents[0] = 0;
    EXPECT_THAT(parents, testing::Each(testing::Ge(0)));
  }
}

TEST(Detector, OnOneRank_CompletesWhenIdleWithEqualSums) {
  Host host(0, 1);
  EXPECT_FALSE(host.detector.on_idle());
  host.set(2, 1);
  EXPECT_FALSE(host.detector.on_idle());
  EXPECT_THAT(host.totals, IsEmpty());
  host.set(2, 2);
  EXPECT_TRUE(host.detector.on_idle());
  ASSERT_EQ(host.totals.size(), 1U);
  EXPECT_EQ(host.totals[0].queued, 2U);
  EXPECT_EQ(host.detector.epoch(), 2U);
}

TEST(Detector, SumsOverTheTree_AreReportedOnceAndConfirmedOnce) {
  Host root(0, 2);
  Host leaf(1, 2);
  root.set(3, 0);
  leaf.set(0, 3);
  EXPECT_FALSE(root.detector.on_idle());  // its child has not reported
  EXPECT_TRUE(leaf.detector.on_idle());
  EXPECT_FALSE(leaf.detector.on_idle());  // nothing has changed
  ASSERT_EQ(leaf.reports.size(), 1U);
  root.detector.on_report(Rank(1), leaf.reports[0]);
  EXPECT_TRUE(root.detector.on_idle());
  EXPECT_THAT(root.requested, ElementsAre(1));
  EXPECT_FALSE(root.detector.on_idle());
  leaf.detector.on_request(root.requests[0]);
  ASSERT_EQ(leaf.confirmations.size(), 1U);
  EXPECT_THAT(root.totals, IsEmpty());
  root.detector.on_confirmation(leaf.confirmations[0]);
  ASSERT_EQ(root.totals.size(), 1U);
  EXPECT_EQ(root.totals[0], (Counts{3, 3, 0, false}));
}

/// Root and leaf up to the moment at which the request is on its way to the leaf.
class Wave : public testing::Test {
 protected:
  void SetUp() override {
    root_.set(1, 0);
    leaf_.set(0, 1);
    start();
  }
  void start() {
    leaf_.detector.on_idle();
    root_.detector.on_report(Rank(1), leaf_.reports.back());
    root_.detector.on_idle();
    ASSERT_FALSE(root_.requests.empty());
  }
  Host root_{0, 2};
  Host leaf_{1, 2};
};

TEST_F(Wave, LeafRanATaskMeanwhile_IsNotConfirmedAndReportsAgain) {
  leaf_.set(0, 1, 1);
  leaf_.detector.on_request(root_.requests[0]);
  EXPECT_THAT(leaf_.confirmations, IsEmpty());
  EXPECT_TRUE(leaf_.detector.on_idle());
  EXPECT_EQ(leaf_.reports.size(), 2U);
}

TEST_F(Wave, LeafIsBusy_IsNotConfirmedAndReportsWhenIdle) {
  const auto before = leaf_.now;
  leaf_.now.reset();
  leaf_.detector.on_request(root_.requests[0]);
  EXPECT_THAT(leaf_.confirmations, IsEmpty());
  EXPECT_FALSE(leaf_.detector.on_idle());
  leaf_.now = before;  // the same counts: but the root must hear to try again
  EXPECT_TRUE(leaf_.detector.on_idle());
}

TEST_F(Wave, LeafHasReportedSince_IsNotConfirmed) {
  leaf_.set(0, 2);
  leaf_.detector.on_idle();
  leaf_.set(0, 1);
  leaf_.detector.on_request(root_.requests[0]);
  EXPECT_THAT(leaf_.confirmations, IsEmpty());
}

TEST_F(Wave, RequestOfAnotherEpoch_IsIgnored) {
  leaf_.detector.begin_epoch();
  leaf_.detector.on_request(root_.requests[0]);
  EXPECT_THAT(leaf_.confirmations, IsEmpty());
}

TEST_F(Wave, RootChangedMeanwhile_DoesNotComplete) {
  leaf_.detector.on_request(root_.requests[0]);
  root_.set(1, 0, 5);
  root_.detector.on_confirmation(leaf_.confirmations[0]);
  EXPECT_THAT(root_.totals, IsEmpty());
  EXPECT_TRUE(root_.detector.on_idle());  // and tries again
  leaf_.detector.on_request(root_.requests.back());
  root_.detector.on_confirmation(leaf_.confirmations.back());
  EXPECT_EQ(root_.totals.size(), 1U);
}

TEST_F(Wave, ConfirmationOfAnEarlierWave_DoesNotCount) {
  leaf_.detector.on_request(root_.requests[0]);
  root_.set(1, 0, 5);
  root_.detector.on_idle();  // a second wave
  root_.detector.on_confirmation(leaf_.confirmations[0]);
  EXPECT_THAT(root_.totals, IsEmpty());
}

// Counters are not read at one moment, so the first look may have been wrong without the leaf's
// noticing; the root's second look is the one that must fail.
TEST_F(Wave, RootReportsOtherSumsMeanwhile_EndsTheWave) {
  leaf_.detector.on_request(root_.requests[0]);
  root_.set(2, 0);
  EXPECT_FALSE(root_.detector.on_idle());  // the sums differ: no second wave
  root_.detector.on_confirmation(leaf_.confirmations[0]);
  EXPECT_THAT(root_.totals, IsEmpty());
  leaf_.set(0, 2);
  leaf_.detector.on_idle();
  root_.detector.on_report(Rank(1), leaf_.reports.back());
  EXPECT_TRUE(root_.detector.on_idle());
  leaf_.detector.on_request(root_.requests.back());
  root_.detector.on_confirmation(leaf_.confirmations.back());
  EXPECT_EQ(root_.totals.size(), 1U);
}

TEST_F(Wave, LeafReportsDuringTheWave_DoesNotComplete) {
  leaf_.detector.on_request(root_.requests[0]);
  leaf_.set(1, 1);
  leaf_.detector.on_idle();
  root_.detector.on_report(Rank(1), leaf_.reports.back());
  root_.detector.on_confirmation(leaf_.confirmations[0]);
  EXPECT_THAT(root_.totals, IsEmpty());
  EXPECT_FALSE(root_.detector.on_idle());  // the sums differ: no wave
  EXPECT_EQ(root_.requests.size(), 1U);
}

TEST(Detector, UnsatisfiedAndFinal_AreSummedOverTheTree) {
  Host root(0, 2);
  Host leaf(1, 2);
  root.now = Snapshot{{0, 0, 2, true}, 0, 1};
  leaf.now = Snapshot{{0, 0, 3, false}, 0, 1};
  leaf.detector.on_idle();
  root.detector.on_report(Rank(1), leaf.reports[0]);
  root.detector.on_idle();
  leaf.detector.on_request(root.requests[0]);
  root.detector.on_confirmation(leaf.confirmations[0]);
  ASSERT_EQ(root.totals.size(), 1U);
  EXPECT_EQ(root.totals[0], (Counts{0, 0, 5, false}));
}

}  // namespace team_detector_test
