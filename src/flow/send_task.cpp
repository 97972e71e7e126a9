#include "flow/send_task.hpp"

#include "flow/core.hpp"

#include <fmt/format.h>

namespace shoal::flow {

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
