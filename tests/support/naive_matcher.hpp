#pragma once
// Who gets which event, by plain lists and linear search, from the text of docs/design/events.md.

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

  void submit(event::ConsumerKind kind, const std::string& name,
              std::vector<event::Dependency> dependencies) {
    Task task{next_task_++, kind, name, std::move(dependencies), {}};
    tasks_.push_back(task);
    const std::size_t at = tasks_.size() - 1;
    if (is_once(task) || !task.dependencies.empty()) fill_new(at);
    tidy();
  }

  void arrive(int source, const std::string& name, int id, bool persistent) {
    match({source, name, id, persistent, next_arrival_++});
    tidy();
  }

  std::vector<int> retrieve_any(const std::vector<event::Dependency>& dependencies) {
    std::vector<NaiveEvent> got;
    for (const event::Dependency& dependency : dependencies) {
      if (auto found = take_earliest(dependency)) got.push_back(*found);
    }
    return give_out(got);
  }

  /// Of runs()[index]: the ids of its events.
  std::vector<int> begin(std::size_t index) {
    runs[index].begun = true;
    std::vector<NaiveEvent> got;
    for (const auto& some : runs[index].events) got.insert(got.end(), some.begin(), some.end());
    return give_out(got);
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
  [[nodiscard]] std::uint64_t unconsumed_count() const {
    return static_cast<std::uint64_t>(
        std::ranges::count(waiting_events, false, &NaiveEvent::persistent));
  }
  /// "3: has 1, misses 0 a, any b" for each task that runs once.
  [[nodiscard]] std::vector<std::string> describe() const {
    std::vector<std::string> lines;
    for (const Task& task : tasks_) {
      if (!is_once(task)) continue;
      std::string missing;
      std::size_t held = 0;
      for (std::size_t i = 0; i < task.dependencies.size(); ++i) {
        if (task.instances.empty() || task.instances[0][i].empty()) {
          missing += " " + std::to_string(task.dependencies[i].source) + task.dependencies[i].name;
        } else {
          ++held;
        }
      }
      lines.push_back(std::to_string(task.id) + " has " + std::to_string(held) + missing);
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
  };

  static bool is_once(const Task& task) {
    return task.kind == event::ConsumerKind::task || task.kind == event::ConsumerKind::wait;
  }
  static bool fits(const event::Dependency& dependency, const NaiveEvent& event) {
    return dependency.name == event.name &&
           (dependency.source == event::kAnySource || dependency.source == event.source);
  }
  static bool is_full(const Instance& instance) {
    return std::ranges::none_of(instance, [](const auto& some) { return some.empty(); });
  }

  std::optional<NaiveEvent> take_earliest(const event::Dependency& dependency) {
    const auto it = std::ranges::find_if(
        waiting_events, [&](const NaiveEvent& event) { return fits(dependency, event); });
    if (it == waiting_events.end()) return std::nullopt;
    NaiveEvent event = *it;
    waiting_events.erase(it);
    return event;
  }

  // A new consumer takes, dependency by dependency, the earliest arrived event that fits.
  void fill_new(std::size_t at) {
    bool took = true;
    while (took) {
      took = false;
      Task& task = tasks_[at];
      Instance instance(task.dependencies.size());
      for (std::size_t i = 0; i < instance.size(); ++i) {
        if (auto event = take_earliest(task.dependencies[i])) {
          instance[i].push_back(*event);
          took = true;
        }
      }
      if (task.kind == event::ConsumerKind::greedy) {
        for (std::size_t i = 0; i < instance.size(); ++i) {
          while (auto event = take_earliest(task.dependencies[i])) instance[i].push_back(*event);
        }
      }
      if (is_once(task) || took) task.instances.push_back(instance);
      if (is_once(task) || task.kind == event::ConsumerKind::greedy) break;
    }
  }

  // What is full becomes ready.
  void tidy() {
    for (std::size_t at = 0; at < tasks_.size();) {
      Task& task = tasks_[at];
      while (!task.instances.empty() && is_full(task.instances[0])) {
        runs.push_back({task.id, task.instances[0]});
        task.instances.erase(task.instances.begin());
        if (is_once(task)) break;
      }
      const bool done = is_once(task) && task.instances.empty();
      if (done) {
        tasks_.erase(tasks_.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        ++at;
      }
    }
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
        if (run.consumer == task.id && !run.begun) return put(run.events, true);
      }
    }
    for (Instance& instance : task.instances) {
      if (put(instance, false)) return true;
    }
    if (is_once(task)) return false;
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
    for (Task& task : tasks_) {
      if (offer(task, event)) {
        tidy();
        return;
      }
    }
    const auto place = std::ranges::find_if(
        waiting_events, [&](const NaiveEvent& other) { return other.arrival > event.arrival; });
    waiting_events.insert(place, event);
  }

  std::vector<int> give_out(const std::vector<NaiveEvent>& got) {
    std::vector<int> ids;
    ids.reserve(got.size());
    for (const NaiveEvent& event : got) ids.push_back(event.id);
    for (NaiveEvent event : got) {
      if (!event.persistent) continue;
      event.arrival = next_arrival_++;
      match(event);
    }
    return ids;
  }

  void take_back(std::vector<Task>::iterator it) {
    std::vector<NaiveEvent> held;
    for (const Instance& instance : it->instances) {
      for (const auto& some : instance) held.insert(held.end(), some.begin(), some.end());
    }
    tasks_.erase(it);
    std::ranges::sort(held, {}, &NaiveEvent::arrival);
    for (const NaiveEvent& event : held) match(event);
  }

  std::vector<Task> tasks_;  // in the order of submission
  event::ConsumerId next_task_ = 0;
  std::uint64_t next_arrival_ = 0;
};

}  // namespace shoal::testing
