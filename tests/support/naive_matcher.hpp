#pragma once
// Matching of events by plain lists and linear search, from the text of docs/design/events.md.

#include "event/matcher.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shoal::testing {

class NaiveMatcher {
 public:
  struct NaiveEvent {
    int source = 0;
    std::string name;
    int id = 0;
    bool persistent = false;
    std::uint64_t arrival = 0;
  };
  /// Numbered in the order in which they became ready.
  struct Run {
    event::ConsumerId consumer;
    std::vector<std::vector<NaiveEvent>> events;  // by dependency
    bool begun = false;
  };

  explicit NaiveMatcher(MatchingRule rule = MatchingRule::paper)
      : by_library_(rule == MatchingRule::library) {}

  void submit(event::ConsumerKind kind, const std::string& name,
              std::vector<event::Dependency> dependencies, bool needs_one = false) {
    auto place = tasks_.end();
    if (by_library_ && kind != event::ConsumerKind::wait) {
      place = std::ranges::find(tasks_, event::ConsumerKind::wait, &Task::kind);
    }
    place =
        tasks_.insert(place, {next_task_++, kind, name, std::move(dependencies), {}, needs_one});
    if (is_once(*place)) place->instances.emplace_back(place->dependencies.size());
    fill(static_cast<std::size_t>(place - tasks_.begin()));
  }

  void arrive(int source, const std::string& name, int id, bool persistent) {
    const NaiveEvent event{source, name, id, persistent, next_arrival_++};
    if (!persistent) return match(event);
    waiting_events.push_back(event);
    for (std::size_t at = 0; at < tasks_.size();) {
      if (!fill(at)) ++at;
    }
  }

  std::vector<int> retrieve_any(const std::vector<event::Dependency>& dependencies) {
    std::vector<int> ids;
    for (const event::Dependency& dependency : dependencies) {
      if (auto found = take_earliest(dependency, true)) ids.push_back(found->id);
    }
    return ids;
  }

  /// Ids of the events of runs()[index], which begins.
  std::vector<int> begin(std::size_t index) {
    runs[index].begun = true;
    const auto it = std::ranges::find(tasks_, runs[index].consumer, &Task::id);
    if (by_library_ && it != tasks_.end() && it->kind == event::ConsumerKind::greedy) {
      drain(*it, runs[index].events);
    }
    std::vector<int> ids;
    for (const auto& some : runs[index].events) {
      for (const NaiveEvent& event : some) ids.push_back(event.id);
    }
    if (it != tasks_.end()) fill(static_cast<std::size_t>(it - tasks_.begin()));
    return ids;
  }

  [[nodiscard]] bool is_submitted(const std::string& name) const {
    return std::ranges::any_of(tasks_, [&](const Task& task) { return task.name == name; });
  }

  bool remove(const std::string& name) {
    const auto it = std::ranges::find(tasks_, name, &Task::name);
    if (it == tasks_.end()) return false;
    take_back(it);
    return true;
  }

  bool withdraw(event::ConsumerId id) {
    const auto it = std::ranges::find(tasks_, id, &Task::id);
    if (it == tasks_.end()) return false;
    take_back(it);
    return true;
  }

  [[nodiscard]] std::uint64_t waiting_count() const {
    return static_cast<std::uint64_t>(std::ranges::count_if(tasks_, is_once));
  }
  [[nodiscard]] std::uint64_t later_count() const {
    std::uint64_t count = 0;
    for (const Task& task : tasks_) {
      if (has_later(task)) count += task.instances.size() - 1;
    }
    return count;
  }
  [[nodiscard]] std::uint64_t unconsumed_count() const {
    return static_cast<std::uint64_t>(
        std::ranges::count(waiting_events, false, &NaiveEvent::persistent));
  }
  /// "3 has 1 0a -1b" for each task that runs once and has 1 event, then for each persistent one
  /// with later instances, then for each starved one.
  [[nodiscard]] std::vector<std::string> describe() const {
    std::vector<std::string> lines;
    std::vector<Task> tasks = tasks_;
    std::ranges::sort(tasks, {}, &Task::id);
    for (const Task& task : tasks) {
      if (is_once(task)) lines.push_back(describe(task, 0));
    }
    for (const Task& task : tasks) {
      if (has_later(task)) lines.push_back(describe(task, 1));
    }
    for (const Task& task : tasks) {
      if (is_starved(task)) lines.push_back(describe(task, 0));
    }
    return lines;
  }

  std::vector<Run> runs;
  std::vector<NaiveEvent> waiting_events;  // in the order of arrival

 private:
  using Instance = std::vector<std::vector<NaiveEvent>>;
  struct Task {
    event::ConsumerId id;
    event::ConsumerKind kind;
    std::string name;
    std::vector<event::Dependency> dependencies;
    std::vector<Instance> instances;  // incomplete, oldest first
    bool needs_one;
  };

  static bool is_once(const Task& task) {
    return task.kind == event::ConsumerKind::task || task.kind == event::ConsumerKind::wait;
  }
  static bool has_later(const Task& task) { return !is_once(task) && task.instances.size() > 1; }
  /// It lacks only events that incomplete instances of other persistent tasks hold.
  [[nodiscard]] bool is_starved(const Task& task) const {
    if (by_library_ || is_once(task) || has_later(task) || is_held_up(task)) return false;
    std::vector<NaiveEvent> held;
    for (const Task& other : tasks_) {
      if (is_once(other) || other.id == task.id) continue;
      for (const Instance& instance : other.instances) {
        for (const auto& some : instance) held.insert(held.end(), some.begin(), some.end());
      }
    }
    std::erase_if(held, [](const NaiveEvent& event) { return event.persistent; });
    if (held.empty()) return false;
    for (const bool any : {false, true}) {
      for (std::size_t i = 0; i < task.dependencies.size(); ++i) {
        const event::Dependency& dependency = task.dependencies[i];
        if ((dependency.source == event::kAnySource) != any) continue;
        if (!task.instances.empty() && !task.instances[0][i].empty()) continue;
        const auto it = std::ranges::find_if(
            held, [&](const NaiveEvent& event) { return fits(dependency, event); });
        if (it == held.end()) return false;
        held.erase(it);
      }
    }
    return true;
  }
  [[nodiscard]] bool is_held_up(const Task& task) const {
    return std::ranges::any_of(runs, [&](const Run& run) { return holds_up(run, task); });
  }
  /// Its instances from number `from` on.
  static std::string describe(const Task& task, std::size_t from) {
    std::string missing;
    std::size_t held = 0;
    for (std::size_t i = 0; i < task.dependencies.size(); ++i) {
      bool lacks = task.instances.empty();
      for (std::size_t n = from; n < task.instances.size(); ++n) {
        const bool has = !task.instances[n][i].empty();
        held += has ? 1 : 0;
        lacks = lacks || !has;
      }
      if (!lacks) continue;
      missing += " " + std::to_string(task.dependencies[i].source) + task.dependencies[i].name;
    }
    return std::to_string(task.id) + " has " + std::to_string(held) + missing;
  }
  static bool fits(const event::Dependency& dependency, const NaiveEvent& event) {
    return dependency.name == event.name &&
           (dependency.source == event::kAnySource || dependency.source == event.source);
  }
  static bool is_full(const Task& task) {
    const auto is_empty = [](const auto& some) { return some.empty(); };
    const Instance& instance = task.instances[0];
    if (task.needs_one) return instance.empty() || !std::ranges::all_of(instance, is_empty);
    return std::ranges::none_of(instance, is_empty);
  }

  /// Takes the event, or a copy of a persistent one, which that fires again.
  std::optional<NaiveEvent> take_earliest(const event::Dependency& dependency, bool or_copy) {
    const auto it = std::ranges::find_if(waiting_events, [&](const NaiveEvent& event) {
      return fits(dependency, event) && (or_copy || !event.persistent);
    });
    if (it == waiting_events.end()) return std::nullopt;
    NaiveEvent event = *it;
    waiting_events.erase(it);
    if (event.persistent) {
      event.arrival = next_arrival_++;
      waiting_events.push_back(event);
    }
    return event;
  }

  /// It has to begin before the task gets copies again.
  static bool holds_up(const Run& run, const Task& task) {
    if (run.consumer != task.id || run.begun) return false;
    if (task.kind == event::ConsumerKind::greedy) return true;
    return std::ranges::all_of(run.events, [](const auto& some) {
      return std::ranges::all_of(some, &NaiveEvent::persistent);
    });
  }

  /// Dependency by dependency, the earliest that fits; copies for the oldest instance only. True:
  /// there may be more for the next instance.
  bool fill_in_turn(Task& task) {
    const bool copies =
        std::ranges::none_of(runs, [&](const Run& run) { return holds_up(run, task); });
    bool took = false;
    for (std::size_t i = 0; i < task.dependencies.size(); ++i) {
      auto it =
          std::ranges::find_if(task.instances, [i](const auto& one) { return one[i].empty(); });
      const bool is_new = it == task.instances.end();
      const bool may_have_more = task.kind == event::ConsumerKind::persistent && !by_library_;
      if (is_new && !task.instances.empty() && !may_have_more) continue;
      const bool is_oldest = it == task.instances.begin();
      const auto event = take_earliest(task.dependencies[i], copies && is_oldest);
      if (!event) continue;
      took = true;
      if (is_new) it = task.instances.emplace(it, task.dependencies.size());
      (*it)[i].push_back(*event);
      if (is_full(task)) return true;
    }
    return took;
  }

  /// True: the task is gone.
  bool fill(std::size_t at) {
    for (bool more = true; more;) {
      Task& task = tasks_[at];
      if (by_library_ && is_held_up(task) && task.kind == event::ConsumerKind::greedy) return false;
      more = fill_in_turn(task) && task.kind == event::ConsumerKind::persistent;
      if (!by_library_ && task.kind == event::ConsumerKind::greedy && !task.instances.empty()) {
        drain(task, task.instances[0]);
      }
      if (make_ready(at)) return true;
    }
    return false;
  }

  void drain(const Task& task, Instance& instance) {
    for (std::size_t i = 0; i < task.dependencies.size(); ++i) {
      while (auto event = take_earliest(task.dependencies[i], false)) instance[i].push_back(*event);
    }
  }

  /// Makes complete instances ready. True: the task is gone.
  bool make_ready(std::size_t at) {
    Task& task = tasks_[at];
    if (task.instances.empty() || !is_full(task)) return false;
    runs.push_back({task.id, task.instances[0]});
    task.instances.erase(task.instances.begin());
    if (!is_once(task)) return false;
    tasks_.erase(tasks_.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
  }

  bool offer(Task& task, const NaiveEvent& event) {
    const auto put = [&](Instance& instance, bool more) {
      for (std::size_t i = 0; i < instance.size(); ++i) {
        if (!fits(task.dependencies[i], event) || (!more && !instance[i].empty())) continue;
        instance[i].push_back(event);
        return true;
      }
      return false;
    };
    if (task.kind == event::ConsumerKind::greedy) {
      for (Run& run : runs) {  // one that is ready, and has not begun to run
        if (run.consumer == task.id && !run.begun) return !by_library_ && put(run.events, true);
      }
    }
    for (Instance& instance : task.instances) {
      if (put(instance, false)) return true;
    }
    if (is_once(task) || (by_library_ && !task.instances.empty())) return false;
    if (task.kind == event::ConsumerKind::greedy && !task.instances.empty()) {
      return put(task.instances[0], true);
    }
    Instance fresh(task.dependencies.size());
    if (!put(fresh, false)) return false;
    task.instances.push_back(fresh);
    return true;
  }

  // To the earliest submitted consumer, or to its place in the order of arrival.
  void match(const NaiveEvent& event) {
    for (std::size_t at = 0; at < tasks_.size(); ++at) {
      if (!offer(tasks_[at], event)) continue;
      if (!make_ready(at)) fill(at);
      return;
    }
    const auto place = std::ranges::find_if(
        waiting_events, [&](const NaiveEvent& other) { return other.arrival > event.arrival; });
    waiting_events.insert(place, event);
  }

  void take_back(std::vector<Task>::iterator it) {
    std::vector<NaiveEvent> held;
    for (const Instance& instance : it->instances) {
      for (const auto& some : instance) held.insert(held.end(), some.begin(), some.end());
    }
    tasks_.erase(it);
    std::erase_if(held, [](const NaiveEvent& event) { return event.persistent; });
    std::ranges::sort(held, {}, &NaiveEvent::arrival);
    for (const NaiveEvent& event : held) match(event);
  }

  const bool by_library_;
  std::vector<Task> tasks_;  // in the order of submission; the library's rule: waits behind tasks
  event::ConsumerId next_task_ = 0;
  std::uint64_t next_arrival_ = 0;
};

}  // namespace shoal::testing
