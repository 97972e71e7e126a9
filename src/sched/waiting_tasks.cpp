#include <shoal/detail/sched/waiting_tasks.hpp>

#include "sched/parked.hpp"

namespace shoal::sched {

WaitingTasks::WaitingTasks(int worker_count) {
  for (int i = 0; i <= worker_count; ++i) lists_.push_back(std::make_unique<ParkedList>());
}

WaitingTasks::~WaitingTasks() = default;

std::uint64_t WaitingTasks::count() const {
  std::uint64_t count = 0;
  for (const auto& list : lists_) count += list->uncounted();
  return count;
}

std::size_t WaitingTasks::size() const {
  std::size_t size = 0;
  for (const auto& list : lists_) size += list->size();
  return size;
}

std::vector<std::string> WaitingTasks::describe() const {
  std::vector<const ParkedList*> lists;
  lists.reserve(lists_.size());
  for (const auto& list : lists_) lists.push_back(list.get());
  return describe_waits(lists);
}

void WaitingTasks::cancel(const TaskScope& scope) {
  for (const auto& list : lists_) list->cancel(&scope);
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
      if (one.is_waiting_main() && !one.is_cancellable) where = one.where();
    });
  }
  return where;
}

}  // namespace shoal::sched
