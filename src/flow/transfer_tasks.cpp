#include "flow/transfer_tasks.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "flow/core.hpp"
#include "flow/instance.hpp"

#include <memory>

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
  try {
    take();
  } catch (const CheckError& error) {
    const Handle& handle = access_.instance->handle();
    throw CheckError(fmt::format(
        "flow '{}': the value of '{}' that rank {} has sent does not fit: it is {} here, and {}; "
        "all ranks register a datum with the same type and size, and insert the same tasks",
        sequence().name(), handle.name(), id_.rank, handle.describe_type(), error.what()));
  }
}

void ReceiveTask::take() {
  const Handle& handle = access_.instance->handle();
  const std::span<const std::byte> bytes = as_span(shared_ != nullptr ? *shared_ : bytes_);
  if (!combines_) {
    handle.type->decode(access_.object, bytes);
    return;
  }
  void* const value = handle.type->make(handle.shape);
  const auto destroy = [&handle](void* object) { handle.type->destroy(object); };
  const std::unique_ptr<void, decltype(destroy)> owner(value, destroy);
  handle.type->decode(value, bytes);
  handle.extras->reduction->combine(access_.object, value);
}

SendTask::SendTask(Sequence& sequence, Instance& instance, const Destination& to, bool is_late)
    : FlowTask(sequence, std::span(&access_, 1)),
      list_(std::make_shared<SendList>(SendList{{to}})),
      is_late_(is_late) {
  access_ = {.instance = &instance, .task = this, .mode = Mode::read};
}

std::string SendTask::name() const {
  return fmt::format("sending of '{}'", access_.instance->handle().name());
}

void SendTask::execute() {
  Instance& instance = *access_.instance;
  Transfers& transfers = sequence().core().transfers();
  transfers.send(instance, sequence(), instance.close_send(list_), is_late_);
}

}  // namespace shoal::flow
