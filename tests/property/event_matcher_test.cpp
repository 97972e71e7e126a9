// Random programs of tasks, waits and events against a naive matcher; and what a match costs.

#include "event/matcher.hpp"

#include "support/naive_matcher.hpp"
#include "support/sizes.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace event_matcher_test {

using shoal::MatchingRule;
using shoal::event::ConsumerId;
using shoal::event::ConsumerKind;
using shoal::event::Dependency;
using shoal::event::kAnySource;
using shoal::event::Matcher;
using shoal::event::Payload;
using shoal::event::Ready;
using shoal::testing::NaiveMatcher;
using shoal::testing::sized;

Payload payload_of(int id) { return std::make_shared<const int>(id); }
int id_of(const Payload& payload) { return *static_cast<const int*>(payload.get()); }
std::vector<int> ids_of(const std::vector<Payload>& payloads) {
  std::vector<int> ids;
  ids.reserve(payloads.size());
  for (const Payload& payload : payloads) ids.push_back(id_of(payload));
  return ids;
}

/// The same operations on both matchers.
class Pair {
 public:
  Pair(std::uint64_t seed, MatchingRule rule) : random_(seed), matcher_(rule), naive_(rule) {
    name_count_ = between(1, 4);
    source_count_ = between(1, 3);
    removal_weight_ = between(0, 2);
    begin_weight_ = between(1, 4);
    persistent_percent_ = between(0, 4) * 10;
  }

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      step();
      compare();
    }
  }

 private:
  int between(int from, int to) {
    return from + static_cast<int>(random_() % static_cast<std::uint64_t>(to - from + 1));
  }
  std::string some_name() {
    return std::string(1, static_cast<char>('a' + between(1, name_count_)));
  }
  std::string some_task() { return between(0, 2) == 0 ? "" : "t" + std::to_string(between(0, 3)); }

  std::vector<Dependency> some_dependencies(int count_min) {
    std::vector<Dependency> all;
    const int count = between(count_min, 4);
    for (int i = 0; i < count; ++i) {
      const int source = between(0, 2) == 0 ? kAnySource : between(0, source_count_ - 1);
      all.push_back({source, some_name()});
    }
    return all;
  }

  void step() {
    const int kind = between(0, 9 + begin_weight_ + removal_weight_);
    if (kind < 4) {
      arrive();
    } else if (kind < 8) {
      submit();
    } else if (kind == 8) {
      const std::vector<Dependency> dependencies = some_dependencies(0);
      EXPECT_EQ(ids_of(matcher_.retrieve_any(dependencies)), naive_.retrieve_any(dependencies));
    } else if (kind <= 9 + begin_weight_) {
      begin();
    } else {
      remove();
    }
  }

  void arrive() {
    const int source = between(0, source_count_ - 1);
    const std::string name = some_name();
    const int id = next_id_++;
    const bool persistent = between(1, 100) <= persistent_percent_;
    matcher_.arrive({source, name, payload_of(id), persistent}, ready_);
    naive_.arrive(source, name, id, persistent);
  }

  void submit() {
    constexpr ConsumerKind kKinds[] = {ConsumerKind::task,       ConsumerKind::task,
                                       ConsumerKind::task,       ConsumerKind::wait,
                                       ConsumerKind::persistent, ConsumerKind::greedy};
    const ConsumerKind kind = kKinds[between(0, 5)];
    const bool once = kind == ConsumerKind::task || kind == ConsumerKind::wait;
    const std::string name = kind == ConsumerKind::wait ? "" : some_task();
    const std::vector<Dependency> dependencies = some_dependencies(once ? 0 : 1);
    const auto action = std::make_shared<ConsumerId>();
    const bool needs_one = kind == ConsumerKind::wait && between(0, 1) == 0;
    *action = matcher_.add_consumer({kind, name, dependencies, action, needs_one}, ready_);
    naive_.submit(kind, name, dependencies, needs_one);
    if (kind == ConsumerKind::wait) waits_.push_back(*action);
  }

  void begin() {
    if (begun_count_ == ready_.size()) return;
    std::size_t i = 0;  // any that has not begun
    do {
      i = static_cast<std::size_t>(between(0, static_cast<int>(ready_.size()) - 1));
    } while (begun_[i]);
    begun_[i] = true;
    ++begun_count_;
    const auto instance = ready_[i];
    EXPECT_EQ(ids_of(matcher_.begin_run(*instance, ready_)), naive_.begin(i));
  }

  void remove() {
    if (!waits_.empty() && between(0, 1) == 0) {
      const ConsumerId wait =
          waits_[static_cast<std::size_t>(between(0, static_cast<int>(waits_.size()) - 1))];
      EXPECT_EQ(matcher_.withdraw(wait, ready_), naive_.withdraw(wait));
      return;
    }
    const std::string name = "t" + std::to_string(between(0, 3));
    EXPECT_EQ(matcher_.is_submitted(name), naive_.is_submitted(name));
    EXPECT_EQ(matcher_.remove(name, ready_), naive_.remove(name));
  }

  void compare() {
    begun_.resize(ready_.size());
    ASSERT_EQ(ready_.size(), naive_.runs.size());
    for (; compared_ < ready_.size(); ++compared_) {
      const auto action = std::static_pointer_cast<ConsumerId>(ready_[compared_]->action());
      ASSERT_EQ(*action, naive_.runs[compared_].consumer);
    }
    ASSERT_EQ(matcher_.waiting_count(), naive_.waiting_count());
    ASSERT_EQ(matcher_.later_count(), naive_.later_count());
    ASSERT_EQ(matcher_.unconsumed_count(), naive_.unconsumed_count());
    compare_reports();
  }

  void compare_reports() {
    std::vector<std::string> lines;
    for (const auto& one : matcher_.waiting(1000)) {
      lines.push_back(std::to_string(one.id) + " has " + std::to_string(one.held_count));
      for (const Dependency& missing : one.missing) {
        lines.back() += " " + std::to_string(missing.source) + missing.name;
      }
    }
    ASSERT_EQ(lines, naive_.describe());
    std::map<std::string, std::vector<int>> by_name;
    matcher_.for_each_unconsumed(
        [&](int /*source*/, const std::string& name, const Payload& payload) {
          by_name[name].push_back(id_of(payload));
        });
    std::map<std::string, std::vector<int>> expected;
    for (const auto& event : naive_.waiting_events) {
      if (!event.persistent) expected[event.name].push_back(event.id);
    }
    ASSERT_EQ(by_name, expected);
  }

  std::mt19937_64 random_;
  int name_count_ = 0;
  int source_count_ = 0;
  int removal_weight_ = 0;
  int begin_weight_ = 0;
  int persistent_percent_ = 0;
  Matcher matcher_;
  NaiveMatcher naive_;
  Ready ready_;
  std::vector<bool> begun_;
  std::size_t begun_count_ = 0;
  std::size_t compared_ = 0;
  std::vector<ConsumerId> waits_;
  int next_id_ = 0;
};

class MatcherProperty : public ::testing::TestWithParam<MatchingRule> {};

TEST_P(MatcherProperty, RandomPrograms_MatchAsTheNaiveMatcherDoes) {
  const std::uint64_t first = std::random_device()();
  std::printf("seeds from %llu on\n", static_cast<unsigned long long>(first));
  for (std::uint64_t seed = first; seed < first + sized(10'000, 50); ++seed) {
    SCOPED_TRACE(seed);
    Pair pair(seed, GetParam());
    pair.run(static_cast<int>(seed % 5 == 0 ? 300 : 60));
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}
INSTANTIATE_TEST_SUITE_P(Rules, MatcherProperty,
                         ::testing::Values(MatchingRule::paper, MatchingRule::library),
                         [](const auto& rule) {
                           return rule.param == MatchingRule::paper ? "Paper" : "Library";
                         });

// --- cost, in entries looked at

/// Number of entries that typical operations look at when `count` tasks and as many events are
/// outstanding, under names of their own and under one shared name.
std::vector<std::uint64_t> costs_with(int count) {
  Matcher matcher;
  Ready ready;
  const Payload nothing = payload_of(0);
  const auto submit = [&](std::vector<Dependency> dependencies, ConsumerKind kind,
                          const char* name) {
    matcher.add_consumer({kind, name, dependencies, nullptr}, ready);
  };
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    submit({{0, "wanted"}}, ConsumerKind::task, "shared");
    submit({{i % 7, "wanted " + number}, {kAnySource, "missing"}}, ConsumerKind::task, "");
    submit({{kAnySource, "both"}, {1, "missing " + number}}, ConsumerKind::persistent, "");
    matcher.arrive({i % 7, "there", nothing, false}, ready);
    matcher.arrive({i % 7, "there " + number, nothing, false}, ready);
    matcher.arrive({0, "both", nothing, false}, ready);
  }
  std::vector<std::uint64_t> costs;
  const auto measure = [&](const auto& operation) {
    const std::uint64_t before = matcher.probe_count();
    operation();
    costs.push_back(matcher.probe_count() - before);
  };
  for (int i = 0; i < 3; ++i) {
    const std::string number = std::to_string(i);
    measure([&] { matcher.arrive({0, "wanted", nothing, false}, ready); });
    measure([&] { matcher.arrive({1, "wanted", nothing, false}, ready); });
    measure([&] { matcher.arrive({i, "wanted " + number, nothing, false}, ready); });
    measure([&] { matcher.arrive({3, "missing", nothing, false}, ready); });
    measure([&] { matcher.arrive({1, "missing " + number, nothing, false}, ready); });
    measure([&] { submit({{3, "there"}}, ConsumerKind::task, ""); });
    measure([&] {
      submit({{kAnySource, "there"}, {i, "there " + number}}, ConsumerKind::task, "");
    });
    measure([&] { static_cast<void>(matcher.remove("shared", ready)); });
    const std::vector<Dependency> some{{kAnySource, "there"}, {2, "there"}, {0, "wanted"}};
    measure([&] { static_cast<void>(matcher.retrieve_any(some)); });
  }
  return costs;
}

TEST(MatcherCost, OfAMatch_DoesNotDependOnHowMuchIsOutstanding) {
  const std::vector<std::uint64_t> few = costs_with(20);
  EXPECT_EQ(costs_with(1'000), few);
  EXPECT_EQ(costs_with(sized(100'000, 20'000)), few);
  for (const std::uint64_t cost : few) EXPECT_LE(cost, 20U);
}

TEST(MatcherCost, OfNamesThatAreUsedOnce_IsAConstantForEach) {
  Matcher matcher;
  Ready ready;
  constexpr int kCount = sized(100'000, 20'000);
  for (int i = 0; i < kCount; ++i) {
    const std::vector<Dependency> dependency{{0, "step " + std::to_string(i)}};
    matcher.add_consumer({ConsumerKind::task, "", dependency, nullptr}, ready);
    matcher.arrive({0, dependency[0].name, payload_of(i), false}, ready);
    static_cast<void>(matcher.begin_run(*ready.back(), ready));
    ready.clear();
  }
  EXPECT_LE(matcher.probe_count(), 15U * kCount);
}

// A persistent task comes back to its place, which is near one end: it is early, and waits are
// late.
TEST(MatcherCost, OfAnInstanceByTheLibrarysRule_DoesNotDependOnTheTasksThatWait) {
  std::vector<std::uint64_t> costs;
  for (const int count : {10, 100'000}) {
    Matcher matcher(MatchingRule::library);
    Ready ready;
    const auto submit = [&](std::vector<Dependency> dependencies, ConsumerKind kind) {
      matcher.add_consumer({kind, "", dependencies, nullptr}, ready);
    };
    submit({{0, "a"}, {kAnySource, "b"}}, ConsumerKind::persistent);
    for (int i = 0; i < count; ++i) {
      submit({{0, "a"}, {0, "c"}}, ConsumerKind::task);
      submit({{kAnySource, "b"}, {0, "d"}}, ConsumerKind::wait);
    }
    const std::uint64_t before = matcher.probe_count();
    submit({{0, "c"}}, ConsumerKind::task);
    for (int i = 0; i < 5; ++i) {
      matcher.arrive({0, "a", payload_of(i), false}, ready);
      matcher.arrive({0, "a", payload_of(i), false}, ready);
      matcher.arrive({1, "b", payload_of(i), false}, ready);
    }
    EXPECT_EQ(ready.size(), 5U);
    costs.push_back(matcher.probe_count() - before);
  }
  EXPECT_EQ(costs[0], costs[1]);
}

TEST(MatcherCost, OfAnEvent_DoesNotDependOnTheInstancesOfAPersistentTask) {
  std::vector<std::uint64_t> costs;
  for (const int count : {10, 100'000}) {
    Matcher matcher;
    Ready ready;
    const std::vector<Dependency> dependencies{
        {0, "a"}, {kAnySource, "a"}, {kAnySource, "b"}, {0, "a"}};
    matcher.add_consumer({ConsumerKind::persistent, "", dependencies, nullptr}, ready);
    for (int i = 0; i < 3 * count; ++i) matcher.arrive({0, "a", payload_of(i), false}, ready);
    const std::uint64_t before = matcher.probe_count();
    for (int i = 0; i < 5; ++i) matcher.arrive({i % 2, "b", payload_of(i), false}, ready);
    for (int i = 0; i < 5; ++i) matcher.arrive({i % 2, "a", payload_of(i), false}, ready);
    EXPECT_EQ(ready.size(), 5U);
    costs.push_back(matcher.probe_count() - before);
  }
  EXPECT_EQ(costs[0], costs[1]);
}

}  // namespace event_matcher_test
