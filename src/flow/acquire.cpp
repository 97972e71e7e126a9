#include <shoal/acquired.hpp>

#include "flow/core.hpp"

#include <fmt/format.h>

#include <span>

namespace shoal::flow {

AcquireTask::AcquireTask(Sequence& sequence, const Request& request)
    : FlowTask(sequence, std::span(accesses_)),
      promise_(sequence.core().scheduler(), request.handle->name()),
      future_(promise_.future()) {
  accesses_[0] = {.instance = request.instance, .task = this, .mode = request.mode};
}

std::string AcquireTask::name() const {
  return fmt::format("acquire(), {}, of '{}'", name_of(accesses_[0].mode),
                     accesses_[0].instance->handle().name());
}

void AcquireTask::become_ready() {
  accesses_[0].object = accesses_[0].instance->object();
  accesses_[0].instance->count_acquired(1);
  // acq_rel: the second one sees the effects of the first
  if (steps_.fetch_add(1, std::memory_order_acq_rel) == 1) {
    release();
  } else {
    promise_.set_value();
  }
}

void AcquireTask::abandon() {
  if (steps_.fetch_add(1, std::memory_order_acq_rel) == 1) release();
}

void AcquireTask::release() {
  accesses_[0].instance->count_acquired(-1);
  accesses_[0].instance->release(accesses_[0].mode);
  sequence().count_finished();
  delete this;
}

void GiveBack::operator()(AcquireTask* task) const { task->abandon(); }

}  // namespace shoal::flow
