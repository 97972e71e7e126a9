#pragma once
// Random plans of events between ranks, to one and to all, and whether each arrived in its order.

#include <shoal/event.hpp>
#include <shoal/world.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace shoal::testing {

/// Events that each rank fires, one after the other.
struct EventPlan {
  static constexpr int kAll = -1;
  std::vector<std::vector<int>> targets;  // by source

  EventPlan(std::uint64_t seed, int ranks, int events) {
    std::mt19937_64 random(seed);
    for (int source = 0; source < ranks; ++source) {
      targets.emplace_back();
      for (int i = 0; i < events; ++i) {
        const auto choice = static_cast<int>(random() % static_cast<std::uint64_t>(ranks + 2));
        targets.back().push_back(choice < ranks ? choice : kAll);
      }
    }
  }

  /// The numbers of the events of `source` that reach `target`.
  [[nodiscard]] std::vector<int> expected(int source, int target) const {
    std::vector<int> numbers;
    const std::vector<int>& all = targets[static_cast<std::size_t>(source)];
    for (int i = 0; i < static_cast<int>(all.size()); ++i) {
      const int to = all[static_cast<std::size_t>(i)];
      if (to == kAll || to == target) numbers.push_back(i);
    }
    return numbers;
  }
};

/// One rank's share of a run of a plan.
class EventPlanRun {
 public:
  enum class From { main_function, one_task, chain_of_tasks };

  EventPlanRun(World& world, const EventPlan& plan, From from)
      : world_(world), plan_(plan), from_(from), events_(world, "plan") {}

  /// Throws what differs.
  void run() {
    const int size = world_.size();
    for (int source = 0; source < size; ++source) {
      const std::size_t count = plan_.expected(source, world_.rank()).size();
      got_.push_back(std::make_unique<std::vector<int>>(count, -1));
    }
    // The n-th task that waits for a source gets the n-th event of it, whenever it runs.
    const bool early = from_ != From::one_task;
    if (early) submit_all();
    fire();
    if (!early) submit_all();
    world_.wait();
    for (int source = 0; source < size; ++source) check(source);
  }

 private:
  void submit_all() {
    for (int source = 0; source < world_.size(); ++source) {
      std::vector<int>& got = *got_[static_cast<std::size_t>(source)];
      for (int& place : got) {
        events_.submit({{Rank(source), "n"}},
                       [&place](EventList& list) { place = list[0].get<int>(); });
      }
    }
  }

  void fire_number(int i) {
    const int target = mine()[static_cast<std::size_t>(i)];
    events_.fire(target == EventPlan::kAll ? shoal::all : EventPeer(Rank(target)), "n", i);
  }
  void fire_from(int i) {
    if (i == count()) return;
    fire_number(i);
    events_.submit({}, [this, i] { fire_from(i + 1); });
  }
  void fire_all() {
    for (int i = 0; i < count(); ++i) fire_number(i);
  }
  void fire() {
    switch (from_) {
      case From::main_function:
        return fire_all();
      case From::one_task:
        return events_.submit({}, [this] { fire_all(); });
      case From::chain_of_tasks:
        return events_.submit({}, [this] { fire_from(0); });
    }
  }

  void check(int source) const {
    const std::vector<int> expected = plan_.expected(source, world_.rank());
    const std::vector<int>& got = *got_[static_cast<std::size_t>(source)];
    if (got == expected) return;
    throw std::runtime_error(fmt::format("rank {} got [{}] from rank {} instead of [{}]",
                                         world_.rank().value(), fmt::join(got, " "), source,
                                         fmt::join(expected, " ")));
  }

  [[nodiscard]] const std::vector<int>& mine() const {
    return plan_.targets[static_cast<std::size_t>(world_.rank().value())];
  }
  [[nodiscard]] int count() const { return static_cast<int>(mine().size()); }

  World& world_;
  const EventPlan& plan_;
  const From from_;
  std::vector<std::unique_ptr<std::vector<int>>> got_;
  Events events_;
};

}  // namespace shoal::testing
