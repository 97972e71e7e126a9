// Messages about stacks that overflow and other faults in code that a worker runs. Called in signal
// handlers: takes no memory and no lock.

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstddef>

#include "sched/worker.hpp"

namespace shoal::sched {

namespace {

/// Kind of the code that a worker runs.
std::string_view kind_of(const Worker& worker, const Task* task) {
  if (worker.activity.handler_depth > 0 && worker.activity.attempt == nullptr) return "a handler";
  return task != nullptr ? "a task" : "shoal itself";
}

/// Name of the faulting code, or "". Allocates nothing, since the fault may be inside malloc().
std::string_view plain_name_of(const Worker& worker, const Task* task) {
  if (worker.activity.handler_depth == 0 || worker.activity.attempt != nullptr)
    return task != nullptr ? task->plain_name() : std::string_view();
  const std::string* const handler = worker.activity.running_handler.shown();
  return handler != nullptr ? std::string_view(*handler) : std::string_view();
}

}  // namespace

std::size_t explain_fault(const env::Fault& fault, bool names, char* text, std::size_t size) {
  const Worker* const worker = current_worker();
  if (worker == nullptr || !worker->fibers.have_current()) return 0;
  const Task* const task = worker->fibers.task();
  const env::Stack stack = worker->fibers.stack();
  const std::ptrdiff_t below = stack.bottom - static_cast<const std::byte*>(fault.address);
  const bool overflows = below > 0 && below <= std::ptrdiff_t{env::kGuardBytes};
  if (!overflows && !fault.ends_process) return 0;
  fmt::format_to_n_result<char*> result{};
  if (names) {
    const std::string_view name = plain_name_of(*worker, task);
    if (name.empty()) return 0;
    result = fmt::format_to_n(text, size, "shoal: error: its name: '{}'\n", name);
  } else if (overflows) {
    result = fmt::format_to_n(
        text, size,
        "shoal: error: the stack of {} on rank {}, worker {} has overflowed: its {} KiB are full. "
        "Choose a larger --stack-bytes, or recurse less.\n",
        kind_of(*worker, task), worker->scheduler().rank().value(), worker->id().value(),
        stack.size_bytes / 1024);
  } else {
    result = fmt::format_to_n(
        text, size, "shoal: error: {} at address {} in {} on rank {}, worker {}\n",
        fault.signal == SIGBUS ? "bus error (SIGBUS)" : "segmentation fault (SIGSEGV)",
        fault.address, kind_of(*worker, task), worker->scheduler().rank().value(),
        worker->id().value());
  }
  return std::min(result.size, size);
}

}  // namespace shoal::sched
