#pragma once
// Explores all interleavings of a small model: every order in which its threads can take their
// steps, each step one access to what they share.

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shoal::testing {

/// Result of explore(). `broken` is empty if the model holds; else `schedule` is a shortest list of
/// threads whose steps lead to the broken state.
struct Exploration {
  std::size_t states = 0;
  std::size_t ends = 0;  // states in which no thread can step
  std::string broken;
  std::vector<int> schedule;
};

/// A model's state: copyable, ordered by <=>, with
///   int thread_count() const
///   bool can_step(int thread) const   false: it has ended, or waits for another thread
///   void step(int thread)             one access to shared state and what follows from it
///   std::string broken() const        what is wrong in this state, or ""
///   std::string broken_at_end() const the same where no thread can step
template <class State>
class Explorer {
 public:
  /// Breadth first, so that a counterexample is as short as can be. A model may run for ever along
  /// some path (a retry), but from each state it must be able to come to an end.
  static Exploration explore(const State& initial) {
    Explorer explorer;
    explorer.add(initial, kNone, 0);
    for (std::size_t i = 0; i < explorer.found_.size(); ++i) {
      if (explorer.expand(i)) return explorer.result_;
    }
    explorer.check_ends_reachable();
    return explorer.result_;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  struct Found {
    const State* state;
    std::size_t parent;
    int thread;                     // whose step led here from the parent
    std::vector<std::size_t> from;  // all states that lead here
    bool is_end = false;
  };

  std::size_t add(const State& state, std::size_t parent, int thread) {
    const auto [it, is_new] = index_.try_emplace(state, found_.size());
    if (is_new) found_.push_back({&it->first, parent, thread, {}});
    if (parent != kNone) found_[it->second].from.push_back(parent);
    return it->second;
  }

  /// True if something is broken.
  bool expand(std::size_t i) {
    ++result_.states;
    const State& state = *found_[i].state;
    std::string broken = state.broken();
    bool is_end = true;
    for (int thread = 0; broken.empty() && thread < state.thread_count(); ++thread) {
      if (!state.can_step(thread)) continue;
      is_end = false;
      State next = state;
      next.step(thread);
      add(next, i, thread);
    }
    if (broken.empty() && is_end) {
      ++result_.ends;
      found_[i].is_end = true;
      broken = state.broken_at_end();
    }
    if (broken.empty()) return false;
    report(i, std::move(broken));
    return true;
  }

  void check_ends_reachable() {
    std::vector<bool> reaches_end(found_.size(), false);
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (found_[i].is_end) open.push_back(i);
    }
    while (!open.empty()) {
      const std::size_t i = open.back();
      open.pop_back();
      if (reaches_end[i]) continue;
      reaches_end[i] = true;
      open.insert(open.end(), found_[i].from.begin(), found_[i].from.end());
    }
    const auto stuck = std::find(reaches_end.begin(), reaches_end.end(), false);
    if (stuck == reaches_end.end()) return;
    report(static_cast<std::size_t>(stuck - reaches_end.begin()), "runs for ever from here");
  }

  void report(std::size_t i, std::string broken) {
    result_.broken = std::move(broken);
    for (; found_[i].parent != kNone; i = found_[i].parent) {
      result_.schedule.push_back(found_[i].thread);
    }
    std::reverse(result_.schedule.begin(), result_.schedule.end());
  }

  std::map<State, std::size_t> index_;
  std::vector<Found> found_;
  Exploration result_;
};

template <class State>
Exploration explore(const State& initial) {
  return Explorer<State>::explore(initial);
}

}  // namespace shoal::testing
