#include <shoal/detail/base/check.hpp>
#include <shoal/detail/object/objects.hpp>
#include <shoal/error.hpp>

#include <fmt/format.h>

#include "object/outside.hpp"
#include "object/share.hpp"
#include "team/control_message.hpp"
#include "team/messenger.hpp"
#include "team/unexpected_messages.hpp"

#include <algorithm>
#include <utility>

namespace shoal::object {

namespace {

/// Acknowledges at its end that it has run, or was dropped.
class OutsideInvocation final : public Invocation {
 public:
  OutsideInvocation(std::unique_ptr<Invocation> inner, Arrived&& outside,
                    const team::Messenger& messenger)
      : Invocation(inner->target(), inner->source(), 1, inner->object()),
        packet_(std::move(outside.packet)),
        inner_(std::move(inner)),
        sender_(outside.header.sender),
        origin_(outside.header.origin),
        without_team_(outside.header.has(Outside::kWithoutTeam)),
        messenger_(messenger) {}
  ~OutsideInvocation() override {
    inner_.reset();
    if (sender_ != 0) team::acknowledge(messenger_.world(), origin_, sender_, 1);
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
      inner_->miss(objects, fmt::format("{} has failed", objects.core().describe()));
    } catch (const CheckError&) {  // no task waits for a result
    }
  }

 private:
  const net::PacketHolder packet_;
  std::unique_ptr<Invocation> inner_;
  const std::uint64_t sender_;
  const Rank origin_;
  const bool without_team_;
  const team::Messenger& messenger_;
};

}  // namespace

std::string Invocation::caller() const { return fmt::format("rank {}", source_.value()); }

std::unique_ptr<Invocation> acknowledged(std::unique_ptr<Invocation> inner, Arrived&& outside,
                                         const team::Messenger& messenger) {
  return std::make_unique<OutsideInvocation>(std::move(inner), std::move(outside), messenger);
}

// --- Caller

Caller::~Caller() {
  if (has_turn_) shares_.front()->turn()->release();
}

void Caller::begin_runner(const std::shared_ptr<Share>& share, Runner& runner) {
  is_runner_ = true;
  runner_ = &runner;
  shares_.assign(1, share);
  has_turn_ = true;
}

void Caller::enter(const std::shared_ptr<Share>& share) {
  if (std::find(shares_.begin(), shares_.end(), share) != shares_.end()) return;
  shares_.push_back(share);
  epoch_share_ = nullptr;
  if (!has_turn_) {
    is_away_ = true;
    goes_on();
  }
  forget_closed();
}

void Caller::forget_closed() {
  epoch_share_ = nullptr;
  const auto is_closed = [](const std::shared_ptr<Share>& one) { return one->is_closed(); };
  shares_.erase(std::remove_if(shares_.begin(), shares_.end(), is_closed), shares_.end());
}

void Caller::leave_closed() {
  if (runner_ != nullptr || shares_.empty()) return;
  const std::shared_ptr<Turn> turn = shares_.front()->turn();
  forget_closed();
  if (shares_.empty() && std::exchange(has_turn_, false)) turn->release();
}

void Caller::parks() {
  if (std::exchange(is_away_, true) || !std::exchange(has_turn_, false)) return;
  if (runner_ != nullptr) {
    shares_.front()->park(*runner_);
  } else {
    shares_.front()->turn()->release();
  }
}

void Caller::goes_on() {
  if (!is_away_ || is_coming_) return;
  forget_closed();
  if (!shares_.empty()) {
    is_coming_ = true;
    shares_.front()->turn()->acquire();
    is_coming_ = false;
    has_turn_ = true;
  }
  is_away_ = false;
}

// --- epochs

bool Caller::takes_part_in(const Share& share) const {
  return std::any_of(shares_.begin(), shares_.end(),
                     [&share](const std::shared_ptr<Share>& one) { return one.get() == &share; });
}

void Caller::find_epoch(const Share& share) {
  epoch_share_ = share.is_direct() ? &share : nullptr;
  if (takes_part_in(share)) {
    epoch_ = runner_ != nullptr ? &arrived_epoch_ : &share.epoch_here();
    return;
  }
  std::uint32_t epoch = 0;
  if (epochs_ != nullptr) {
    for (const auto& [of, submitted] : *epochs_) {
      if (of.get() == &share) epoch = submitted;
    }
  }
  submitted_epoch_.store(epoch, std::memory_order_relaxed);
  epoch_ = &submitted_epoch_;
}

std::shared_ptr<const Caller::Epochs> Caller::epochs_now() const {
  if (shares_.empty()) return epochs_;
  Epochs now;
  for (const std::shared_ptr<Share>& share : shares_) {
    // relaxed: as in epoch_in()
    now.emplace_back(share, runner_ != nullptr ? arrived_epoch_.load(std::memory_order_relaxed)
                                               : share->epoch());
  }
  for (const auto& one : epochs_ != nullptr ? *epochs_ : Epochs()) {
    if (std::find(shares_.begin(), shares_.end(), one.first) == shares_.end()) now.push_back(one);
  }
  return std::make_shared<const Epochs>(std::move(now));
}

// A runner has its own.
std::unique_ptr<sched::TaskLocal> Caller::for_submitted(const sched::Task& task) const {
  if (task.find_local<Caller>() != nullptr) return nullptr;
  std::shared_ptr<const Epochs> epochs = epochs_now();
  if (epochs == nullptr) return nullptr;
  const std::uint64_t context = epochs->front().first->fresh_context();
  return std::make_unique<Caller>(context, std::move(epochs));
}

// --- Runner

Runner::Runner(std::shared_ptr<Share> share, sched::TaskScope& in) : share_(std::move(share)) {
  scope = &in;
  kind = sched::TaskKind::delivered;
  auto caller = std::make_unique<Caller>(0);
  caller_ = caller.get();
  add_local(std::move(caller));
}

// A task of a team that has failed is dropped without running.
Runner::~Runner() {
  if (!has_run_) share_->drop();
}

void Runner::run() {
  has_run_ = true;
  caller_->begin_runner(share_, *this);
  share_->serve(*this);
  caller_->end_runner();
}

}  // namespace shoal::object
