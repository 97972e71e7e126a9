#include "flow/receive_task.hpp"

#include "base/bytes.hpp"
#include "flow/instance.hpp"

#include <fmt/format.h>

namespace shoal::flow {

ReceiveTask::ReceiveTask(Sequence& sequence, Instance& instance, const TransferId& id,
                         bool combines)
    : FlowTask(sequence, std::span(&access_, 1)), id_(id), combines_(combines) {
  access_ = {.instance = &instance, .task = this, .mode = Mode::read_write};
}

std::string ReceiveTask::name() const {
  return fmt::format("receiving of '{}' from rank {}", access_.instance->handle().name(), id_.rank);
}

std::span<std::byte> ReceiveTask::place() {
  if (combines_) return {};
  return access_.instance->handle().type->bytes(access_.instance->object());
}

void ReceiveTask::execute() {
  if (keeps_access_) {
    // The flow may end with the last holder.
    access_.instance->share();
    hold_ = nullptr;
    return;
  }
  if (arrived_) return;
  const Handle& handle = access_.instance->handle();
  const std::span<const std::byte> bytes = as_span(shared_ != nullptr ? *shared_ : bytes_);
  if (!combines_) {
    handle.type->decode(access_.object, bytes);
    return;
  }
  void* const value = handle.type->make(handle.shape);
  handle.type->decode(value, bytes);
  handle.extras->reduction->combine(access_.object, value);
  handle.type->destroy(value);
}

}  // namespace shoal::flow
