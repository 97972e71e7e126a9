#include "flow/send_task.hpp"

#include "flow/core.hpp"

#include <fmt/format.h>

namespace shoal::flow {

SendTask::SendTask(Sequence& sequence, Instance& instance, const Destination& to)
    : FlowTask(sequence, std::span(&access_, 1)),
      list_(std::make_shared<SendList>(SendList{{to}})) {
  access_ = {.instance = &instance, .task = this, .mode = Mode::read};
}

std::string SendTask::name() const {
  return fmt::format("sending of '{}'", access_.instance->handle().name());
}

void SendTask::execute() {
  Instance& instance = *access_.instance;
  sequence().core().transfers().send(instance, sequence(), instance.close_send(list_));
}

}  // namespace shoal::flow
