#include <shoal/detail/object/invocation.hpp>

#include <shoal/detail/object/objects.hpp>
#include <shoal/error.hpp>

#include "am/backlog.hpp"
#include "am/messenger.hpp"
#include "object/outside.hpp"

#include <fmt/format.h>

#include <utility>

namespace shoal::object {

namespace {

/// Acknowledges at its end that it has run, or was dropped.
class OutsideInvocation final : public Invocation {
 public:
  OutsideInvocation(std::unique_ptr<Invocation> inner, const Outside& outside,
                    const messaging::Messenger& messenger)
      : Invocation(inner->target(), inner->source(), 1, inner->object()),
        inner_(std::move(inner)),
        sender_(outside.sender),
        origin_(outside.origin),
        without_team_(outside.has(Outside::kWithoutTeam)),
        messenger_(messenger) {}
  ~OutsideInvocation() override {
    inner_.reset();
    if (sender_ != 0) messenger_.backlog().listener().acknowledge(origin_, sender_, 1);
  }

  void run(Objects& objects, void* representative) override {
    begin_one();
    inner_->run(objects, representative);
  }
  void miss(Objects& objects, const std::string& text) override {
    begin_one();
    inner_->miss(objects, text);
  }
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
  std::unique_ptr<Invocation> inner_;
  const std::uint64_t sender_;
  const Rank origin_;
  const bool without_team_;
  const messaging::Messenger& messenger_;
};

}  // namespace

std::string Invocation::caller() const { return fmt::format("rank {}", source_.value()); }

std::unique_ptr<Invocation> acknowledged(std::unique_ptr<Invocation> inner, const Outside& outside,
                                         const messaging::Messenger& messenger) {
  return std::make_unique<OutsideInvocation>(std::move(inner), outside, messenger);
}

}  // namespace shoal::object
