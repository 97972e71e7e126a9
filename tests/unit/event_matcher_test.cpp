// The rules of matching, one by one.

#include "event/matcher.hpp"

#include <gtest/gtest.h>
#include <shoal/detail/sync/list.hpp>

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace event_matcher_test {

using shoal::event::ConsumerId;
using shoal::event::ConsumerKind;
using shoal::event::Dependency;
using shoal::event::kAnySource;
using shoal::event::Matcher;
using shoal::event::Payload;
using shoal::event::Ready;

using Ids = std::vector<int>;

/// A matcher whose events are numbers.
class MatcherRule : public ::testing::Test {
 protected:
  explicit MatcherRule(shoal::MatchingRule rule = shoal::MatchingRule::paper) : matcher(rule) {}

  ConsumerId submit(std::vector<Dependency> dependencies, ConsumerKind kind = ConsumerKind::task,
                    const std::string& name = "") {
    return matcher.add_consumer({kind, name, dependencies, nullptr}, ready);
  }
  void arrive(int source, const std::string& name, int id, bool persistent = false) {
    matcher.arrive({source, name, std::make_shared<const int>(id), persistent}, ready);
  }
  /// The events of the first instance that is ready and has not begun.
  Ids begin() {
    EXPECT_LT(begun_, ready.size());
    if (begun_ >= ready.size()) return {};
    const auto instance = ready[begun_++];
    return ids_of(matcher.begin_run(*instance, ready));
  }
  Ids retrieve(std::vector<Dependency> dependencies) {
    return ids_of(matcher.retrieve_any(dependencies));
  }
  [[nodiscard]] std::size_t ready_count() const { return ready.size() - begun_; }
  static Ids ids_of(const std::vector<Payload>& payloads) {
    Ids ids;
    for (const Payload& payload : payloads) ids.push_back(*static_cast<const int*>(payload.get()));
    return ids;
  }

  Matcher matcher;
  Ready ready;

 private:
  std::size_t begun_ = 0;
};

// --- transient tasks

TEST_F(MatcherRule, ATaskWithoutDependencies_IsReadyAtOnce) {
  submit({});
  EXPECT_EQ(begin(), Ids{});
  EXPECT_EQ(matcher.waiting_count(), 0U);
}

TEST_F(MatcherRule, Events_AreInTheOrderOfTheDependenciesWhateverTheirArrival) {
  submit({{0, "a"}, {1, "b"}, {2, "c"}});
  arrive(2, "c", 3);
  arrive(0, "a", 1);
  EXPECT_EQ(ready_count(), 0U);
  arrive(1, "b", 2);
  EXPECT_EQ(begin(), (Ids{1, 2, 3}));
}

TEST_F(MatcherRule, SourceAndName_HaveToFit) {
  submit({{0, "a"}});
  arrive(1, "a", 1);
  arrive(0, "b", 2);
  EXPECT_EQ(ready_count(), 0U);
  EXPECT_EQ(matcher.unconsumed_count(), 2U);
  arrive(0, "a", 3);
  EXPECT_EQ(begin(), Ids{3});
}

TEST_F(MatcherRule, AnEvent_GoesToTheTaskSubmittedFirst) {
  submit({{0, "a"}, {0, "x"}});
  submit({{0, "a"}, {0, "y"}});
  arrive(0, "a", 1);
  arrive(0, "a", 2);
  arrive(0, "y", 3);
  EXPECT_EQ(begin(), (Ids{2, 3}));
}

TEST_F(MatcherRule, AnyAndARankAlike_ServeTheTaskSubmittedFirst) {
  submit({{kAnySource, "a"}, {0, "x"}});
  submit({{3, "a"}, {0, "y"}});
  submit({{kAnySource, "a"}, {0, "z"}});
  for (const int id : {1, 2, 3}) arrive(3, "a", id);
  arrive(0, "y", 4);
  EXPECT_EQ(begin(), (Ids{2, 4}));
  arrive(0, "z", 5);
  EXPECT_EQ(begin(), (Ids{3, 5}));
}

TEST_F(MatcherRule, ATask_TakesTheEventsThatCameFirst) {
  arrive(1, "a", 1);
  arrive(0, "a", 2);
  arrive(0, "a", 3);
  submit({{0, "a"}});
  EXPECT_EQ(begin(), Ids{2});
  submit({{kAnySource, "a"}});
  EXPECT_EQ(begin(), Ids{1});
}

TEST_F(MatcherRule, ANewTask_TakesDependencyByDependency) {
  arrive(0, "a", 1);
  arrive(1, "a", 2);
  submit({{kAnySource, "a"}, {0, "a"}});  // any takes the only one of rank 0
  EXPECT_EQ(ready_count(), 0U);
  arrive(0, "a", 3);
  EXPECT_EQ(begin(), (Ids{1, 3}));
}

TEST_F(MatcherRule, AnArrival_FillsTheFirstDependencyThatFits) {
  submit({{0, "a"}, {kAnySource, "a"}, {0, "a"}});
  arrive(0, "a", 1);
  arrive(0, "a", 2);
  arrive(0, "a", 3);
  EXPECT_EQ(begin(), (Ids{1, 2, 3}));
}

TEST_F(MatcherRule, ATaskThatHoldsEvents_KeepsThemFromLaterTasks) {
  submit({{0, "a"}, {0, "never"}});
  arrive(0, "a", 1);
  submit({{0, "a"}});
  EXPECT_EQ(ready_count(), 0U);
  EXPECT_EQ(matcher.waiting_count(), 2U);
  EXPECT_EQ(matcher.unconsumed_count(), 0U);
}

// --- persistent tasks

TEST_F(MatcherRule, APersistentTask_RunsForEachSetOfEvents) {
  submit({{0, "a"}, {0, "b"}}, ConsumerKind::persistent);
  for (const int id : {1, 2, 3}) arrive(0, "a", id);
  EXPECT_EQ(ready_count(), 0U);
  arrive(0, "b", 11);
  arrive(0, "b", 12);
  EXPECT_EQ(begin(), (Ids{1, 11}));
  EXPECT_EQ(begin(), (Ids{2, 12}));
  EXPECT_EQ(matcher.waiting_count(), 0U);
  EXPECT_EQ(matcher.unconsumed_count(), 0U);  // the third is held
}

TEST_F(MatcherRule, APersistentTask_TakesAllThatIsThere) {
  for (const int id : {1, 2, 3}) arrive(0, "a", id);
  for (const int id : {11, 12}) arrive(1, "b", id);
  submit({{0, "a"}, {kAnySource, "b"}}, ConsumerKind::persistent);
  EXPECT_EQ(begin(), (Ids{1, 11}));
  EXPECT_EQ(begin(), (Ids{2, 12}));
  EXPECT_EQ(ready_count(), 0U);
  arrive(5, "b", 13);
  EXPECT_EQ(begin(), (Ids{3, 13}));
}

TEST_F(MatcherRule, APersistentTask_GetsEventsBeforeTasksThatWereSubmittedLater) {
  submit({{0, "a"}}, ConsumerKind::task);
  submit({{0, "a"}, {0, "never"}}, ConsumerKind::persistent);
  submit({{0, "a"}});
  for (const int id : {1, 2, 3}) arrive(0, "a", id);
  EXPECT_EQ(begin(), Ids{1});
  EXPECT_EQ(ready_count(), 0U);
  EXPECT_EQ(matcher.waiting_count(), 1U);
}

TEST_F(MatcherRule, APersistentTaskWithAnyAndARank_FillsItsOldestInstance) {
  submit({{0, "a"}, {kAnySource, "a"}}, ConsumerKind::persistent);
  arrive(1, "a", 1);
  arrive(1, "a", 2);
  arrive(0, "a", 3);  // the first dependency of the first instance
  EXPECT_EQ(begin(), (Ids{3, 1}));
  arrive(0, "a", 4);
  EXPECT_EQ(begin(), (Ids{4, 2}));
}

// --- greedy tasks

TEST_F(MatcherRule, AGreedyTask_TakesAllThatIsThere) {
  for (const int id : {1, 2, 3}) arrive(id % 2, "a", id);
  submit({{kAnySource, "a"}}, ConsumerKind::greedy);
  EXPECT_EQ(ready_count(), 1U);
  EXPECT_EQ(begin(), (Ids{1, 2, 3}));
  EXPECT_EQ(matcher.unconsumed_count(), 0U);
}

TEST_F(MatcherRule, AGreedyTask_TakesMoreUntilItBegins) {
  submit({{0, "a"}, {0, "b"}}, ConsumerKind::greedy);
  arrive(0, "a", 1);
  arrive(0, "a", 2);
  EXPECT_EQ(ready_count(), 0U);
  arrive(0, "b", 11);
  EXPECT_EQ(ready_count(), 1U);
  arrive(0, "a", 3);
  arrive(0, "b", 12);
  EXPECT_EQ(ready_count(), 1U);
  EXPECT_EQ(begin(), (Ids{1, 2, 3, 11, 12}));
  arrive(0, "a", 4);
  arrive(0, "b", 13);
  EXPECT_EQ(begin(), (Ids{4, 13}));
}

TEST_F(MatcherRule, AGreedyTaskWithEqualDependencies_FillsEachBeforeTheFirstTakesMore) {
  submit({{0, "a"}, {kAnySource, "a"}}, ConsumerKind::greedy);
  for (const int id : {1, 2, 3}) arrive(0, "a", id);
  EXPECT_EQ(begin(), (Ids{1, 3, 2}));
}

// --- persistent events

TEST_F(MatcherRule, APersistentEvent_IsThereAgainAsSoonAsATaskHasIt) {
  arrive(0, "a", 1, true);
  submit({{0, "a"}});
  submit({{kAnySource, "a"}, {0, "b"}});
  EXPECT_EQ(ready_count(), 1U);
  submit({{0, "a"}}, ConsumerKind::wait);
  EXPECT_EQ(ready_count(), 2U);
  arrive(0, "b", 2);
  EXPECT_EQ(begin(), Ids{1});
  EXPECT_EQ(begin(), Ids{1});
  EXPECT_EQ(begin(), (Ids{1, 2}));
  EXPECT_EQ(matcher.unconsumed_count(), 0U);
  EXPECT_EQ(retrieve({{0, "a"}}), Ids{1});
}

TEST_F(MatcherRule, APersistentEventThatArrives_GoesToAllWhoLackIt) {
  submit({{0, "a"}, {0, "x"}});
  submit({{0, "a"}, {0, "y"}}, ConsumerKind::persistent);
  submit({{kAnySource, "a"}, {0, "z"}}, ConsumerKind::greedy);
  submit({{7, "a"}, {0, "y"}});
  submit({{0, "a"}});
  arrive(0, "a", 1, true);
  EXPECT_EQ(begin(), Ids{1});
  arrive(0, "z", 2);
  EXPECT_EQ(begin(), (Ids{1, 2}));
  arrive(0, "y", 3);
  EXPECT_EQ(begin(), (Ids{1, 3}));
  arrive(0, "x", 4);
  EXPECT_EQ(begin(), (Ids{1, 4}));
  EXPECT_EQ(matcher.waiting_count(), 1U);
}

TEST_F(MatcherRule, APersistentTask_GetsAPersistentEventForEachOfItsInstances) {
  arrive(0, "config", 1, true);
  submit({{0, "config"}, {0, "a"}}, ConsumerKind::persistent);
  submit({{0, "config"}, {0, "b"}}, ConsumerKind::persistent);
  for (const int id : {2, 3}) arrive(0, "b", id);
  for (const int id : {4, 5}) arrive(0, "a", id);
  EXPECT_EQ(ready_count(), 4U);
  for (const int id : {2, 3, 4, 5}) EXPECT_EQ(begin(), (Ids{1, id}));
}

TEST_F(MatcherRule, APersistentTaskThatNeedsPersistentEventsOnly_IsReadyOnceAtATime) {
  submit({{0, "a"}}, ConsumerKind::persistent, "t");
  submit({{0, "a"}}, ConsumerKind::greedy, "g");
  arrive(0, "a", 1, true);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ready_count(), 2U);
    arrive(0, "a", 2);  // makes the first one ready once more
    EXPECT_EQ(ready_count(), 3U);
    EXPECT_EQ(begin(), Ids{1});
    EXPECT_EQ(begin(), Ids{1});
    EXPECT_EQ(begin(), Ids{2});
  }
  EXPECT_TRUE(matcher.remove("t", ready));
  EXPECT_TRUE(matcher.remove("g", ready));
  EXPECT_EQ(begin(), Ids{1});
  EXPECT_EQ(begin(), Ids{1});
  EXPECT_EQ(ready_count(), 0U);
}

TEST_F(MatcherRule, APersistentEvent_ComesBackBehindThoseThatWait) {
  arrive(0, "a", 1, true);
  arrive(0, "a", 2);
  submit({{0, "a"}});
  EXPECT_EQ(begin(), Ids{1});
  EXPECT_EQ(retrieve({{kAnySource, "a"}}), Ids{2});
  EXPECT_EQ(retrieve({{kAnySource, "a"}}), Ids{1});
}

TEST_F(MatcherRule, OnePersistentEvent_FillsAllDependenciesThatItFits) {
  arrive(0, "a", 1, true);
  submit({{0, "a"}, {0, "a"}, {kAnySource, "a"}});
  EXPECT_EQ(begin(), (Ids{1, 1, 1}));
}

TEST_F(MatcherRule, PersistentEvents_AreGivenInTurn) {
  arrive(0, "a", 1, true);
  arrive(0, "a", 2, true);
  submit({{0, "a"}, {0, "a"}, {kAnySource, "a"}});
  EXPECT_EQ(begin(), (Ids{1, 2, 1}));
  submit({{0, "a"}});
  EXPECT_EQ(begin(), Ids{2});
}

TEST_F(MatcherRule, ARemovedTask_TakesItsCopiesOfPersistentEventsWithIt) {
  submit({{0, "a"}, {0, "b"}}, ConsumerKind::task, "t");
  arrive(0, "a", 1, true);
  arrive(0, "b", 2, true);
  EXPECT_EQ(begin(), (Ids{1, 2}));
  submit({{0, "a"}, {0, "c"}}, ConsumerKind::task, "t");
  EXPECT_TRUE(matcher.remove("t", ready));
  EXPECT_EQ(retrieve({{0, "a"}}), Ids{1});
  EXPECT_EQ(matcher.unconsumed_count(), 0U);
}

// --- retrieve_any

TEST_F(MatcherRule, RetrieveAny_TakesWhatIsThereInTheOrderOfTheDependencies) {
  arrive(0, "a", 1);
  arrive(0, "a", 2);
  arrive(1, "c", 3);
  EXPECT_EQ(retrieve({{kAnySource, "c"}, {0, "b"}, {0, "a"}}), (Ids{3, 1}));
  EXPECT_EQ(retrieve({{0, "a"}, {0, "a"}, {0, "a"}}), Ids{2});
  EXPECT_EQ(retrieve({{0, "a"}, {7, "never"}}), Ids{});
  EXPECT_EQ(retrieve({}), Ids{});
}

TEST_F(MatcherRule, RetrieveAny_TakesAPersistentEventForEachDependency) {
  arrive(0, "a", 1, true);
  EXPECT_EQ(retrieve({{0, "a"}, {0, "a"}}), (Ids{1, 1}));
  EXPECT_EQ(retrieve({{0, "a"}}), Ids{1});
}

// --- removal

TEST_F(MatcherRule, ARemovedTask_GivesItsEventsBackAtTheirOldPlace) {
  submit({{1, "a"}, {0, "never"}}, ConsumerKind::task, "t");
  arrive(0, "a", 1);
  arrive(1, "a", 2);
  arrive(0, "a", 3);
  EXPECT_TRUE(matcher.is_submitted("t"));
  EXPECT_TRUE(matcher.remove("t", ready));
  EXPECT_FALSE(matcher.is_submitted("t"));
  EXPECT_EQ(matcher.waiting_count(), 0U);
  EXPECT_EQ(matcher.unconsumed_count(), 3U);
  for (const int id : {1, 2, 3}) EXPECT_EQ(retrieve({{kAnySource, "a"}}), Ids{id});
}

TEST_F(MatcherRule, WhatARemovedTaskHeld_GoesToTheNextThatWaits) {
  submit({{0, "a"}, {0, "never"}}, ConsumerKind::persistent, "t");
  submit({{0, "a"}, {0, "a"}});
  arrive(0, "a", 1);
  arrive(0, "a", 2);
  EXPECT_TRUE(matcher.remove("t", ready));
  EXPECT_EQ(begin(), (Ids{1, 2}));
}

TEST_F(MatcherRule, Remove_TakesTheFirstOfTasksWithOneName) {
  submit({{0, "a"}}, ConsumerKind::task, "t");
  submit({{0, "b"}}, ConsumerKind::task, "t");
  EXPECT_TRUE(matcher.remove("t", ready));
  arrive(0, "a", 1);
  EXPECT_EQ(ready_count(), 0U);
  EXPECT_TRUE(matcher.is_submitted("t"));
  arrive(0, "b", 2);
  EXPECT_EQ(begin(), Ids{2});
  EXPECT_FALSE(matcher.is_submitted("t"));
  EXPECT_FALSE(matcher.remove("t", ready));
  EXPECT_FALSE(matcher.remove("unknown", ready));
}

TEST_F(MatcherRule, ARemovedPersistentTask_StillRunsWhatIsReady) {
  submit({{0, "a"}}, ConsumerKind::persistent, "p");
  submit({{0, "b"}}, ConsumerKind::greedy, "g");
  arrive(0, "a", 1);
  arrive(0, "b", 2);
  EXPECT_TRUE(matcher.remove("p", ready));
  EXPECT_TRUE(matcher.remove("g", ready));
  arrive(0, "a", 3);
  arrive(0, "b", 4);
  EXPECT_EQ(begin(), Ids{1});
  EXPECT_EQ(begin(), Ids{2});
  EXPECT_EQ(ready_count(), 0U);
  EXPECT_EQ(matcher.unconsumed_count(), 2U);
}

TEST_F(MatcherRule, AWithdrawnWait_GivesItsEventsBack) {
  const ConsumerId wait = submit({{0, "a"}, {0, "b"}}, ConsumerKind::wait);
  arrive(0, "a", 1);
  EXPECT_TRUE(matcher.withdraw(wait, ready));
  EXPECT_FALSE(matcher.withdraw(wait, ready));
  EXPECT_EQ(retrieve({{0, "a"}}), Ids{1});
  const ConsumerId complete = submit({{0, "c"}}, ConsumerKind::wait);
  arrive(0, "c", 2);
  EXPECT_FALSE(matcher.withdraw(complete, ready));
  EXPECT_EQ(begin(), Ids{2});
}

TEST_F(MatcherRule, WhatAReadyWaitGivesBack_IsThereAgainAtItsOldPlace) {
  arrive(0, "a", 1);
  submit({{0, "a"}}, ConsumerKind::wait);
  arrive(0, "a", 2);
  matcher.give_back(*ready.back(), ready);
  EXPECT_EQ(retrieve({{0, "a"}}), Ids{1});
  EXPECT_EQ(retrieve({{0, "a"}}), Ids{2});
  EXPECT_EQ(matcher.unconsumed_count(), 0U);
}

// --- what keeps the world from ending, and reports

TEST_F(MatcherRule, Counts_AreOfTransientTasksAndWaitsAndTransientEvents) {
  submit({{0, "a"}});
  submit({{0, "b"}}, ConsumerKind::wait);
  submit({{0, "c"}}, ConsumerKind::persistent);
  submit({{0, "d"}}, ConsumerKind::greedy);
  EXPECT_EQ(matcher.waiting_count(), 2U);
  arrive(0, "x", 1);
  arrive(0, "y", 2, true);
  EXPECT_EQ(matcher.unconsumed_count(), 1U);
}

TEST_F(MatcherRule, InstancesOfAPersistentTask_CountExceptTheOldestIncompleteOne) {
  submit({{0, "a"}, {0, "b"}}, ConsumerKind::persistent, "first");
  arrive(0, "a", 1);
  EXPECT_EQ(matcher.later_count(), 0U);
  for (int i = 2; i <= 4; ++i) arrive(0, "a", i);
  EXPECT_EQ(matcher.later_count(), 3U);
  arrive(0, "b", 5);
  EXPECT_EQ(matcher.later_count(), 2U);
  const auto waiting = matcher.waiting(10);
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_EQ(waiting[0].name, "first");
  EXPECT_EQ(waiting[0].later_count, 2U);
  EXPECT_EQ(waiting[0].held_count, 2U);
  EXPECT_EQ(waiting[0].missing_count, 2U);
  ASSERT_EQ(waiting[0].missing.size(), 1U);
  EXPECT_EQ(waiting[0].missing[0].name, "b");
  for (int i = 6; i <= 9; ++i) arrive(0, "b", i);
  EXPECT_EQ(matcher.later_count(), 0U);  // of the fifth "b" there is one instance
  EXPECT_TRUE(matcher.waiting(10).empty());
}

TEST_F(MatcherRule, APersistentTaskIsStarved_WhenAnotherOneHoldsAllThatItLacks) {
  submit({{0, "a"}, {0, "b"}}, ConsumerKind::persistent, "first");
  submit({{kAnySource, "a"}, {0, "c"}}, ConsumerKind::persistent, "second");
  submit({{0, "a"}, {0, "c"}, {0, "d"}}, ConsumerKind::persistent, "third");
  arrive(0, "a", 1);
  EXPECT_EQ(matcher.starved_count(), 0U);
  arrive(0, "c", 2);
  EXPECT_EQ(matcher.starved_count(), 1U);
  const auto waiting = matcher.waiting(10);
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_EQ(waiting[0].name, "second");
  EXPECT_EQ(waiting[0].held_count, 1U);
  ASSERT_EQ(waiting[0].missing.size(), 1U);
  EXPECT_EQ(waiting[0].missing[0].name, "a");
  arrive(0, "b", 3);
  EXPECT_EQ(matcher.starved_count(), 0U);
}

TEST_F(MatcherRule, ARemovedPersistentTask_LeavesNoLaterInstances) {
  submit({{0, "a"}, {0, "b"}}, ConsumerKind::persistent, "first");
  for (int i = 1; i <= 3; ++i) arrive(0, "a", i);
  arrive(0, "b", 4);
  EXPECT_EQ(matcher.later_count(), 1U);
  EXPECT_TRUE(matcher.remove("first", ready));
  EXPECT_EQ(matcher.later_count(), 0U);
  EXPECT_EQ(matcher.unconsumed_count(), 2U);
}

TEST_F(MatcherRule, Reports_NameWhatIsMissingAndWhatIsLeft) {
  submit({{0, "a"}, {kAnySource, "b"}, {0, "a"}}, ConsumerKind::task, "first");
  submit({{4, "c"}});
  arrive(0, "a", 1);
  arrive(9, "x", 2);
  const auto waiting = matcher.waiting(10);
  ASSERT_EQ(waiting.size(), 2U);
  EXPECT_EQ(waiting[0].name, "first");
  EXPECT_EQ(waiting[0].held_count, 1U);
  ASSERT_EQ(waiting[0].missing.size(), 2U);
  EXPECT_EQ(waiting[0].missing[0].name, "b");
  EXPECT_EQ(waiting[0].missing[0].source, kAnySource);
  EXPECT_EQ(waiting[0].missing[1].name, "a");
  EXPECT_EQ(waiting[1].missing[0].source, 4);
  EXPECT_EQ(matcher.waiting(1).size(), 1U);
  int visits = 0;
  matcher.for_each_unconsumed([&](int source, const std::string& name, const Payload& payload) {
    ++visits;
    EXPECT_EQ(source, 9);
    EXPECT_EQ(name, "x");
    EXPECT_EQ(*static_cast<const int*>(payload.get()), 2);
  });
  EXPECT_EQ(visits, 1);
}

// --- the rule of EDAT's library

class LibraryRule : public MatcherRule {
 protected:
  LibraryRule() : MatcherRule(shoal::MatchingRule::library) {}
};

TEST_F(LibraryRule, SurplusEventsOfAPersistentTask_StayFreeForOthers) {
  submit({{0, "a"}, {0, "b"}}, ConsumerKind::persistent);
  arrive(0, "a", 1);
  arrive(0, "a", 2);
  EXPECT_EQ(matcher.unconsumed_count(), 1U);
  submit({{0, "a"}});
  EXPECT_EQ(begin(), Ids{2});
  arrive(0, "b", 3);
  EXPECT_EQ(begin(), (Ids{1, 3}));
}

TEST_F(LibraryRule, EventsThatNobodyTook_GoToTheNextInstances) {
  submit({{0, "a"}, {0, "a"}, {0, "b"}}, ConsumerKind::persistent);
  for (const int id : {1, 2, 3, 4, 5}) arrive(0, "a", id);
  EXPECT_EQ(matcher.unconsumed_count(), 3U);
  arrive(0, "b", 6);
  EXPECT_EQ(begin(), (Ids{1, 2, 6}));
  EXPECT_EQ(matcher.unconsumed_count(), 1U);
  arrive(0, "b", 7);
  EXPECT_EQ(begin(), (Ids{3, 4, 7}));
  EXPECT_EQ(matcher.unconsumed_count(), 0U);
  EXPECT_EQ(matcher.later_count(), 0U);
}

TEST_F(LibraryRule, APersistentTask_KeepsItsPlaceBeforeLaterTasks) {
  submit({{0, "a"}, {0, "b"}}, ConsumerKind::persistent);
  submit({{0, "a"}, {0, "c"}});
  arrive(0, "a", 1);
  arrive(0, "b", 2);
  EXPECT_EQ(begin(), (Ids{1, 2}));
  arrive(0, "a", 3);
  arrive(0, "a", 4);
  arrive(0, "c", 5);
  EXPECT_EQ(begin(), (Ids{4, 5}));
}

TEST_F(LibraryRule, TasksAreServedBeforeEarlierWaits) {
  submit({{0, "a"}}, ConsumerKind::wait);
  submit({{0, "a"}, {0, "b"}});
  submit({{kAnySource, "a"}}, ConsumerKind::wait);
  submit({{kAnySource, "a"}, {0, "c"}});
  for (const int id : {1, 2, 3, 4}) arrive(0, "a", id);
  EXPECT_EQ(begin(), Ids{3});
  EXPECT_EQ(begin(), Ids{4});
  arrive(0, "b", 5);
  arrive(0, "c", 6);
  EXPECT_EQ(begin(), (Ids{1, 5}));
  EXPECT_EQ(begin(), (Ids{2, 6}));
}

TEST_F(LibraryRule, AGreedyTask_TakesWhatIsFreeWhenItBegins) {
  submit({{0, "a"}, {0, "b"}}, ConsumerKind::greedy);
  for (const int id : {1, 2, 3}) arrive(0, "a", id);
  submit({{0, "a"}});
  EXPECT_EQ(begin(), Ids{2});
  arrive(0, "b", 4);
  arrive(0, "b", 5);
  EXPECT_EQ(ready_count(), 1U);
  EXPECT_EQ(begin(), (Ids{1, 3, 4, 5}));
  EXPECT_EQ(matcher.unconsumed_count(), 0U);
  arrive(0, "b", 6);
  arrive(0, "a", 7);
  EXPECT_EQ(begin(), (Ids{7, 6}));
}

TEST_F(LibraryRule, APersistentEvent_ServesEachTaskOnceForEachInstance) {
  submit({{0, "config"}, {kAnySource, "config"}, {0, "a"}}, ConsumerKind::persistent);
  submit({{0, "config"}}, ConsumerKind::wait);
  arrive(0, "config", 7, true);
  EXPECT_EQ(begin(), Ids{7});
  arrive(0, "a", 1);
  arrive(0, "a", 2);
  EXPECT_EQ(begin(), (Ids{7, 7, 1}));
  EXPECT_EQ(begin(), (Ids{7, 7, 2}));
  EXPECT_EQ(ready_count(), 0U);
}

TEST_F(LibraryRule, EventsThatPersistentTasksHold_KeepNothingWaiting) {
  submit({{0, "a"}, {0, "b"}}, ConsumerKind::persistent);
  submit({{0, "a"}, {0, "c"}}, ConsumerKind::persistent);
  arrive(0, "a", 1);
  arrive(0, "c", 2);
  EXPECT_EQ(matcher.starved_count(), 0U);
  EXPECT_EQ(matcher.unconsumed_count(), 0U);
  EXPECT_TRUE(matcher.waiting(10).empty());
}

}  // namespace event_matcher_test
