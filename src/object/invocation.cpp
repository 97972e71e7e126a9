#include <shoal/detail/object/invocation.hpp>

#include <shoal/detail/object/objects.hpp>
#include <shoal/error.hpp>

#include "object/outside.hpp"
#include "team/control_message.hpp"
#include "team/messenger.hpp"
#include "team/unexpected_messages.hpp"

#include <fmt/format.h>

#include <utility>

namespace shoal::object {

namespace {

/// Acknowledges at its end that it has run, or was dropped.
class OutsideInvocation final : public Invocation {
 public:
  OutsideInvocation(std::unique_ptr<Invocation> inner, Arrived&& outside,
                    const messaging::Messenger& messenger)
      : Invocation(inner->target(), inner->source(), 1, inner->object()),
        packet_(std::move(outside.packet)),
        inner_(std::move(inner)),
        sender_(outside.header.sender),
        origin_(outside.header.origin),
        without_team_(outside.header.has(Outside::kWithoutTeam)),
        messenger_(messenger) {}
  ~OutsideInvocation() override {
    inner_.reset();
    if (sender_ != 0) term::acknowledge(messenger_.world(), origin_, sender_, 1);
  }

  void run(Objects& objects, void* representative) override {
    begin_one();
    inner_->run(objects, representative);
  }
  void miss(Objects& objects, const std::string& text) override {
    begin_one();
    inner_->miss(objects, text);
  }
  void leave_window() override { packet_->disown(); }
  [[nodiscard]] std::string method() const override { return inner_->method(); }
  [[nodiscard]] std::string caller() const override {
    return source() >= 0 ? Invocation::caller()
                         : fmt::format("rank {} of the world", origin_.value());
  }
  // A promise of the team is given up with it.
  void drop(Objects& objects) override {
    if (!without_team_) return;
    try {
      inner_->miss(objects, fmt::format("{} has failed", objects.scope().describe()));
    } catch (const CheckError&) {  // no task waits for a result
    }
  }

 private:
  const net::PacketHolder packet_;
  std::unique_ptr<Invocation> inner_;
  const std::uint64_t sender_;
  const Rank origin_;
  const bool without_team_;
  const messaging::Messenger& messenger_;
};

}  // namespace

std::string Invocation::caller() const { return fmt::format("rank {}", source_.value()); }

std::unique_ptr<Invocation> acknowledged(std::unique_ptr<Invocation> inner, Arrived&& outside,
                                         const messaging::Messenger& messenger) {
  return std::make_unique<OutsideInvocation>(std::move(inner), std::move(outside), messenger);
}

}  // namespace shoal::object
