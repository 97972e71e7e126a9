#pragma once
// Random plans of who consumes and fires what, whose outcome does not depend on the order of
// running, and that outcome.

#include "support/naive_matcher.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace shoal::testing {

/// Steps of each rank, one after the other. No dependency is on `any`, so the events of a stream
/// (target, source, name) go, in the order fired, to their consumers, in the order submitted.
/// Nothing is left over but what persistent tasks hold, and no other task gets stuck: steps are
/// drawn in an order in which each wait finds its events fired before it.
class ConsumerPlan {
 public:
  static constexpr int kAll = -1;
  struct Need {
    int peer = kAll;  // a rank, or all
    std::string name;
  };
  struct Step {
    enum class Kind { task, persistent, wait, fire };
    Kind kind = Kind::fire;
    std::vector<Need> needs{};  // of a fire: the target
    int id = 0;                 // what is fired
  };
  /// By consumer of a rank, in the order submitted: its runs, sorted, each with what it got.
  using Got = std::vector<std::vector<std::vector<int>>>;

  ConsumerPlan(std::uint64_t seed, int ranks, int steps)
      : random_(seed), steps_(static_cast<std::size_t>(ranks)) {
    for (int i = 0; i < steps; ++i) draw_step();
    settle();
  }

  [[nodiscard]] const std::vector<Step>& steps(int rank) const {
    return steps_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::size_t consumer_count(int rank) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        steps(rank), [](const Step& step) { return step.kind != Step::Kind::fire; }));
  }

  /// Result of the naive matcher: first all submissions, then all events.
  [[nodiscard]] Got expected(int rank) const {
    NaiveMatcher naive = matched(rank);
    Got got(consumer_count(rank));
    for (std::size_t i = 0; i < naive.runs.size(); ++i) {
      got[naive.runs[i].consumer].push_back(naive.begin(i));
    }
    for (auto& runs : got) std::ranges::sort(runs);
    return got;
  }
  /// Persistent tasks of a rank hold events that a StuckError must name.
  [[nodiscard]] bool ends_stuck() const {
    for (int rank = 0; rank < size(); ++rank) {
      if (!matched(rank).describe().empty()) return true;
    }
    return false;
  }

 private:
  [[nodiscard]] NaiveMatcher matched(int rank) const {
    NaiveMatcher naive;
    for (const Step& step : steps(rank)) {
      if (step.kind != Step::Kind::fire) naive.submit(kind_of(step), "", expanded(step.needs));
    }
    for (int source = 0; source < size(); ++source) {
      for (const Step& step : steps(source)) {
        if (step.kind != Step::Kind::fire) continue;
        const Need& to = step.needs[0];
        if (to.peer == kAll || to.peer == rank) naive.arrive(source, to.name, step.id, false);
      }
    }
    return naive;
  }

  /// Events of one source and name at one target that are drawn so far.
  struct Stream {
    int wanted = 0;  // by what runs once
    int fired = 0;
    bool is_endless = false;  // a persistent task takes all that come
  };
  using Key = std::tuple<int, int, std::string>;  // target, source, name

  static event::ConsumerKind kind_of(const Step& step) {
    if (step.kind == Step::Kind::wait) return event::ConsumerKind::wait;
    return step.kind == Step::Kind::task ? event::ConsumerKind::task
                                         : event::ConsumerKind::persistent;
  }
  [[nodiscard]] int size() const { return static_cast<int>(steps_.size()); }
  int below(int bound) { return static_cast<int>(random_() % static_cast<std::uint64_t>(bound)); }
  Need some_need() {
    const int peer = below(5) == 0 ? kAll : below(size());
    return {peer, std::string(1, static_cast<char>('a' + below(3)))};
  }
  /// With `all` as one dependency per rank.
  [[nodiscard]] std::vector<event::Dependency> expanded(const std::vector<Need>& needs) const {
    std::vector<event::Dependency> result;
    for (const Need& need : needs) {
      const bool to_all = need.peer == kAll;
      for (int rank = to_all ? 0 : need.peer; rank < (to_all ? size() : need.peer + 1); ++rank) {
        result.push_back({rank, need.name});
      }
    }
    return result;
  }

  void draw_step() {
    const int rank = below(size());
    const int choice = below(20);
    if (choice < 8) return add_fire(rank, some_need());
    if (choice == 8) return add_consumer(rank, Step::Kind::persistent);
    add_consumer(rank, choice < 16 ? Step::Kind::task : Step::Kind::wait);
  }

  void add_fire(int source, const Need& to) {
    for (int target = 0; target < size(); ++target) {
      if (to.peer == kAll || to.peer == target) ++streams_[{target, source, to.name}].fired;
    }
    steps_[static_cast<std::size_t>(source)].push_back({Step::Kind::fire, {to}, next_id_++});
  }

  void add_consumer(int rank, Step::Kind kind) {
    std::vector<Need> needs;
    const int count = 1 + below(4);
    for (int i = 0; i < count; ++i) {
      const Need need = some_need();
      if (kind == Step::Kind::persistent || !is_endless(rank, need)) needs.push_back(need);
    }
    if (needs.empty()) return;
    for (const auto& [source, name] : expanded(needs)) {
      Stream& stream = streams_[{rank, source, name}];
      if (kind == Step::Kind::persistent) {
        stream.is_endless = true;
      } else {
        ++stream.wanted;
      }
    }
    if (kind == Step::Kind::wait) fire_missing(rank);
    steps_[static_cast<std::size_t>(rank)].push_back({kind, std::move(needs), 0});
  }

  // Events that come too late for earlier persistent tasks would never be consumed.
  [[nodiscard]] bool is_endless(int rank, const Need& need) const {
    return std::ranges::any_of(expanded({need}), [&](const event::Dependency& dependency) {
      const auto it = streams_.find({rank, dependency.source, dependency.name});
      return it != streams_.end() && it->second.is_endless;
    });
  }

  /// All that `target` waits for.
  void fire_missing(int target) {
    for (const auto& [key, stream] : streams_) {
      const auto& [to, source, name] = key;
      while (to == target && stream.fired < stream.wanted) add_fire(source, {target, name});
    }
  }

  void settle() {
    for (int target = 0; target < size(); ++target) fire_missing(target);
    for (const auto& [key, stream] : streams_) {
      const auto& [target, source, name] = key;
      if (stream.is_endless) continue;
      for (int i = stream.wanted; i < stream.fired; ++i) {
        steps_[static_cast<std::size_t>(target)].push_back({Step::Kind::task, {{source, name}}, 0});
      }
    }
  }

  std::mt19937_64 random_;
  std::vector<std::vector<Step>> steps_;  // by rank
  std::map<Key, Stream> streams_;
  int next_id_ = 0;
};

}  // namespace shoal::testing
