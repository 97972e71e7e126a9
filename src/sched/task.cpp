#include <shoal/sched/task.hpp>

#include <shoal/base/error.hpp>

namespace shoal::sched {

TaskScope::TaskScope(int worker_count, TaskScope* outer) : counts(worker_count), outer_(outer) {}

TaskScope::~TaskScope() = default;

void TaskScope::throw_to_main() { throw CancelledError("the world has failed"); }

}  // namespace shoal::sched
