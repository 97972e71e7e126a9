#include <shoal/detail/sched/task.hpp>

#include <shoal/error.hpp>

#include <utility>

namespace shoal::sched {

void Task::give_locals(Task& task) const {
  for (const TaskLocal* one = local_.get(); one != nullptr; one = one->next_.get()) {
    if (auto given = one->for_submitted(task); given != nullptr) task.add_local(std::move(given));
  }
}

TaskScope::TaskScope(int worker_count, TaskScope* outer) : counts(worker_count), outer_(outer) {}

TaskScope::~TaskScope() = default;

void TaskScope::throw_to_main() { throw CancelledError("the world has failed"); }

}  // namespace shoal::sched
