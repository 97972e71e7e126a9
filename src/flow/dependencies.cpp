#include "flow/dependencies.hpp"

#include <shoal/detail/sched/dependencies.hpp>

#include "sched/traced.hpp"

namespace shoal::flow {

// Tasks that were inserted while nothing was recorded have no identifier: nothing is known of them.
// A FlowTask that is never submitted is a join in traces: the tasks that wait for it wait for all
// that it waits for.
void Dependencies::add(FlowTask& task, std::span<Instance* const> held) {
  if (!task.is_scheduled()) {
    const std::uint64_t join = sched::new_join();
    add(task, join, [join](std::uint64_t other) { sched::record_fulfilled(join, other); });
    return;
  }
  if (trace::on<trace::Category::task>()) sched::traced::created(task);
  add(task, task.trace_id, [&](std::uint64_t other) { sched::traced::needs(task, other); });
  const sync::Lock lock(mutex_);
  for (const Instance* const instance : held) {
    orders_[instance].add(Mode::read_write, task.trace_id, [](std::uint64_t /*other*/) {});
  }
}

void Dependencies::add(const FlowTask& task, std::uint64_t id,
                       FunctionRef<void(std::uint64_t other)> need) {
  const sync::Lock lock(mutex_);
  for (const Access& access : task.accesses()) {
    if (access.instance == nullptr || access.mode == Mode::scratch) continue;
    orders_[access.instance].add(access.mode, id, need);
  }
}

void Dependencies::forget(const Instance& instance) {
  const sync::Lock lock(mutex_);
  orders_.erase(&instance);
}

}  // namespace shoal::flow
