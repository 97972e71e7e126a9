#pragma once
// A message whose handler runs as a task.

#include <shoal/detail/am/channel.hpp>
#include <shoal/detail/am/handler.hpp>
#include <shoal/detail/sched/task.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace shoal::messaging {

/// Keeps the packet, and with it the sender's window.
class MessageTask final : public sched::Task {
 public:
  MessageTask(std::shared_ptr<const Handler> instance, const Handler& handler, net::Packet* packet,
              const Message& message)
      : instance_(std::move(instance)), handler_(handler), packet_(packet), message_(message) {
    scope = &message.channel->scope();
    priority = handler.priority;
    kind = sched::TaskKind::delivered;
    packet_->add_reference();
  }
  ~MessageTask() override {
    if (!ran_) {  // the scope failed: only free what the message holds
      message_.dropped = true;
      invoke();
    }
    packet_->release();
  }

  void run() override {
    ran_ = true;
    invoke();
  }
  [[nodiscard]] std::string name() const override { return handler_.name; }
  [[nodiscard]] std::string_view plain_name() const noexcept override { return handler_.name; }
  // The sender's window must not depend on the waits of this task.
  void before_parking() override { packet_->disown(); }

 private:
  void invoke() {
    sync::observe(&message_.channel->messenger());
    sync::observe(packet_);
    Batch batch(message_);
    handler_.invoke(handler_.self, batch);
  }

  std::shared_ptr<const Handler> instance_;  // keeps handler_ alive, unless that is a static one
  const Handler& handler_;
  net::Packet* packet_;
  Message message_;
  bool ran_ = false;
};

}  // namespace shoal::messaging
