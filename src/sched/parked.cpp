#include "sched/parked.hpp"

#include <shoal/detail/sched/long_task.hpp>
#include <shoal/detail/sched/waiting_tasks.hpp>
#include <shoal/error.hpp>
#include <shoal/task_group.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <new>
#include <utility>

namespace shoal::sched {

std::string name_of(const Task& task) {
  try {
    return task.name();
  } catch (const std::bad_alloc&) {
    return "a task";  // takes no memory
  } catch (...) {
    return fmt::format("a task that could not be named ({})", describe(std::current_exception()));
  }
}

std::string Parked::name() const {
  if (task != nullptr) return name_of(*task);
  return thread_name != nullptr ? thread_name : "a thread of the program";
}

std::string Parked::where() const {
  return waitable != nullptr ? waitable->describe() : std::string(what);
}

namespace {

std::string in_call_text(const LongCall* call) {
  return call != nullptr ? ", in " + call->describe() : "";
}

}  // namespace

void ParkedList::link(ParkedWaiter& one) {
  one.in_list = true;
  list_.insert_before(list_.first(), one);
  ++size_;
  if (one.counted) return;
  uncounted_.fetch_add(1, std::memory_order_release);
  if (one.task != nullptr && !one.task->is_main()) one.task->scope->count_parked(true);
}

void ParkedList::unlink(ParkedWaiter& one) {
  one.in_list = false;
  list_.erase(one);
  --size_;
  if (one.counted) return;
  uncounted_.fetch_sub(1, std::memory_order_release);
  if (one.task != nullptr && !one.task->is_main()) one.task->scope->count_parked(false);
}

bool ParkedList::enlist(ParkedWaiter& one, const TaskScope* scope) {
  const sync::Quiet quiet;
  const sync::Lock lock(mutex_);
  // A failure or a cancellation that comes after this look finds it in the list.
  const bool is_refused = (scope != nullptr && scope->failed()) ||
                          (closed_to_threads_ && one.task == nullptr) ||
                          (one.leaves_with_group() && one.task->group->is_cancelled());
  one.ended = !is_refused && one.ending_scope != nullptr && one.ending_scope->failed();
  if ((is_refused || one.ended) && one.cancellable != Cancellable::no) {
    static_cast<void>(one.waitable->withdraw(one));  // as if it had stood there
    one.cancelled = true;
    return false;
  }
  link(one);
  bool enlisted = false;
  one.strand.run([parked = &one, result = &enlisted] {
    const bool is_listed = parked->waitable->enlist(*parked);
    const sync::Quiet not_watched;  // no strand's stack
    *result = is_listed;
  });
  if (enlisted) return true;
  unlink(one);
  return false;
}

bool ParkedList::take_out(Parked& one, Parked*& taken) {
  auto& waiter = static_cast<ParkedWaiter&>(one);
  if (one.cancellable == Cancellable::no || !one.waitable->withdraw(waiter)) return false;
  one.cancelled = true;
  one.taken_next = std::exchange(taken, &one);
  return true;
}

// The tasks stay parked until they are woken here.
int ParkedList::release(Parked* taken, bool tell_scope) {
  int count = 0;
  while (taken != nullptr) {
    Parked* const one = std::exchange(taken, taken->taken_next);
    static_cast<ParkedWaiter*>(one)->go_on(tell_scope);
    ++count;
  }
  return count;
}

// Takes no memory, since it may be called for lack of memory.
int ParkedList::cancel(const TaskScope* scope) {
  const sync::Quiet quiet;  // waiters are on the stacks of their tasks
  const bool main = scope == nullptr;
  Parked* taken = nullptr;
  {
    const sync::Lock lock(mutex_);
    for (Parked* one = list_.first(); one != nullptr; one = list_.next(*one)) {
      if (one->waitable == nullptr) continue;
      const bool is_told = one->is_waiting_main() ? main : !main && one->is_within(*scope);
      const bool ends =
          !main && one->ending_scope != nullptr && one->ending_scope->is_within(*scope);
      if ((is_told || ends) && take_out(*one, taken)) one->ended = !is_told;
    }
  }
  return release(taken, !main);
}

void ParkedList::cancel(const TaskGroup& group) {
  const sync::Quiet quiet;
  Parked* taken = nullptr;
  {
    const sync::Lock lock(mutex_);
    for (Parked* one = list_.first(); one != nullptr; one = list_.next(*one)) {
      if (!group.is_cancelled()) break;  // it has ended, and begun anew
      if (one->waitable == nullptr || one->task == nullptr) continue;
      if (!group.holds(one->task->group) || !one->leaves_with_group()) continue;
      static_cast<void>(take_out(*one, taken));
    }
  }
  release(taken, true);
}

void ParkedList::close_to_threads() {
  Parked* taken = nullptr;
  {
    const sync::Lock lock(mutex_);
    closed_to_threads_ = true;
    for (Parked* one = list_.first(); one != nullptr; one = list_.next(*one)) {
      if (one->waitable == nullptr || one->task != nullptr) continue;
      static_cast<void>(take_out(*one, taken));
    }
  }
  release(taken, true);
}

bool ParkedList::holds_counted() const {
  bool found = false;
  for_each([&found](const Parked& one) { found = found || (one.counted && !one.is_main()); });
  return found;
}

namespace {

// One per process, as the interpreter of the other language is.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
constinit std::atomic<void (*)(TaskPlaces&)> place_finder{nullptr};

}  // namespace

void set_place_finder(void (*find)(TaskPlaces&)) { place_finder = find; }

WaitTexts::WaitTexts(const std::vector<const ParkedList*>& lists,
                     const std::vector<const Task*>& running) {
  if (const auto find = place_finder.load(); find != nullptr) {
    for (const Task* task : running) places_.try_emplace(task);
    for (const ParkedList* list : lists) {
      list->for_each([this](const Parked& one) {
        if (one.task != nullptr) places_.try_emplace(one.task);
        for (const Nesting* outer = one.outer; outer != nullptr; outer = outer->outer) {
          places_.try_emplace(&outer->task);
        }
      });
    }
    if (!places_.empty()) find(places_);
  }
  for (const ParkedList* list : lists) {
    list->for_each([this](const Parked& one) {
      const Task* const holder = one.waitable != nullptr ? one.waitable->holder() : nullptr;
      if (holder != nullptr) names_.try_emplace(holder);
    });
  }
  if (names_.empty()) return;
  for (const ParkedList* list : lists) {
    list->for_each([this](const Parked& one) {
      if (one.task != nullptr) add(*one.task);
      for (const Nesting* outer = one.outer; outer != nullptr; outer = outer->outer) {
        add(outer->task);
      }
    });
  }
}

void WaitTexts::add(const Task& task) {
  if (const auto it = names_.find(&task); it != names_.end()) it->second = name_of(task);
}

std::string WaitTexts::place_of(const Task* task) const {
  const auto it = places_.find(task);
  return it != places_.end() && !it->second.empty() ? fmt::format(" ({})", it->second) : "";
}

std::string WaitTexts::where(const Nesting& one) const {
  return one.waitable.describe() + place_of(&one.task) + in_call_text(one.in_call);
}

std::string WaitTexts::where(const Parked& one) const {
  const Task* const holder = one.waitable != nullptr ? one.waitable->holder() : nullptr;
  const std::string in_call = in_call_text(one.in_call);
  const std::string where = one.where() + place_of(one.task);
  if (holder == nullptr) return where + in_call;
  const auto it = names_.find(holder);
  return it != names_.end() && !it->second.empty()
             ? fmt::format("{}, which '{}' holds{}", where, it->second, in_call)
             : fmt::format("{}, which a task holds that is ready, or has ended without unlock(){}",
                           where, in_call);
}

namespace {

struct WaitLine {
  std::string name;
  std::string where;
};

constexpr std::size_t kKindsMax = 32;  // lines of one rank
constexpr std::size_t kCircleMax = 16;

// Follows the chain of waiters from `start`; returns the cycle back to it, if there is one.
std::vector<const Task*> circle_from(const Task* start,
                                     const std::map<const Task*, const Task*>& waits_for) {
  std::vector<const Task*> path{start};
  for (auto it = waits_for.find(start); it != waits_for.end(); it = waits_for.find(it->second)) {
    if (it->second == start) return path;
    if (path.size() > waits_for.size()) return {};  // runs into a circle that start is not part of
    path.push_back(it->second);
  }
  return {};
}

std::vector<std::string> describe_circles(const std::map<const Task*, const Task*>& waits_for,
                                          const std::map<const Task*, WaitLine>& waits) {
  std::vector<std::string> lines;
  for (const auto& [task, holder] : waits_for) {
    const std::vector<const Task*> circle = circle_from(task, waits_for);
    // Each circle once: from its smallest task.
    if (circle.empty() || *std::min_element(circle.begin(), circle.end()) != task) continue;
    std::string line = "lock cycle: ";
    for (std::size_t i = 0; i < std::min(circle.size(), kCircleMax); ++i) {
      const WaitLine& wait = waits.at(circle[i]);
      line += fmt::format("{}'{}' waits in {}", i == 0 ? "" : "; ", wait.name, wait.where);
    }
    lines.push_back(std::move(line));
  }
  std::sort(lines.begin(), lines.end());  // not by address
  return lines;
}

}  // namespace

std::vector<std::string> describe_waits(const std::vector<const ParkedList*>& lists) {
  const WaitTexts texts(lists);
  std::map<const Task*, const Task*> waits_for;
  std::map<const Task*, WaitLine> waits;
  std::map<std::pair<std::string, std::string>, int> kinds;
  for (const ParkedList* list : lists) {
    list->for_each([&](const Parked& one) {
      if (one.counted && !one.is_waiting_main()) return;
      WaitLine line{one.name(), texts.where(one)};
      ++kinds[{line.name, line.where}];
      const Task* inner = one.task;
      for (const Nesting* outer = one.outer; outer != nullptr; outer = outer->outer) {
        WaitLine below{name_of(outer->task), texts.where(*outer)};
        ++kinds[{below.name, below.where}];
        waits_for[&outer->task] = inner;
        waits[&outer->task] = std::move(below);
        inner = &outer->task;
      }
      if (one.waitable == nullptr || one.waitable->holder() == nullptr) return;
      waits_for[one.task] = one.waitable->holder();
      waits[one.task] = std::move(line);
    });
  }
  std::vector<std::string> lines = describe_circles(waits_for, waits);
  std::size_t written = 0;
  for (const auto& [kind, count] : kinds) {
    if (++written > kKindsMax) break;
    const auto& [name, where] = kind;
    lines.push_back(fmt::format("{}'{}' waits in {}",
                                count == 1 ? "" : fmt::format("{} times ", count), name, where));
  }
  if (kinds.size() > kKindsMax) {
    lines.push_back(fmt::format("and tasks of {} more kinds wait", kinds.size() - kKindsMax));
  }
  return lines;
}

WaitingTasks::WaitingTasks(int worker_count) {
  for (int i = 0; i <= worker_count; ++i) lists_.push_back(std::make_unique<ParkedList>());
}

WaitingTasks::~WaitingTasks() = default;

std::uint64_t WaitingTasks::count() const {
  std::uint64_t count = 0;
  for (const auto& list : lists_) count += list->uncounted();
  return count;
}

Uncounted uncounted_in(const WaitingTasks& waiting, const TaskScope& scope) {
  Uncounted sum;
  for (const ParkedList* const list : waiting.all()) {
    list->for_each([&](const Parked& one) {
      if (one.counted || !one.is_within(scope)) return;
      ++sum.all;
      if (!one.has_begun) ++sum.not_begun;
    });
  }
  return sum;
}

std::size_t WaitingTasks::size() const {
  std::size_t size = 0;
  for (const auto& list : lists_) size += list->size();
  return size;
}

std::vector<const ParkedList*> WaitingTasks::all() const {
  std::vector<const ParkedList*> lists;
  lists.reserve(lists_.size());
  for (const auto& list : lists_) lists.push_back(list.get());
  return lists;
}

std::vector<std::string> WaitingTasks::describe() const { return describe_waits(all()); }

std::string WaitingTasks::place_of_main() const {
  std::string place;
  const std::vector<const ParkedList*> lists = all();
  const WaitTexts texts(lists);
  for (const ParkedList* list : lists) {
    list->for_each([&](const Parked& one) {
      if (one.is_main()) place = texts.place_of(one.task);
    });
  }
  return place;
}

void WaitingTasks::cancel(const TaskScope& scope) {
  for (const auto& list : lists_) list->cancel(&scope);
}

void WaitingTasks::cancel(const TaskGroup& group) {
  for (const auto& list : lists_) list->cancel(group);
}

bool WaitingTasks::cancel_main() {
  int count = 0;
  for (const auto& list : lists_) count += list->cancel(nullptr);
  return count > 0;
}

std::string WaitingTasks::keeps_main() const {
  std::string where;
  for (const auto& list : lists_) {
    list->for_each([&where](const Parked& one) {
      if (one.is_waiting_main() && one.cancellable == Cancellable::no) where = one.where();
    });
  }
  return where;
}

}  // namespace shoal::sched
