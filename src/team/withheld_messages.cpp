// Messages of an attempt of a task, which travel once it has succeeded.

#include <shoal/detail/net/link.hpp>
#include <shoal/detail/net/pieces.hpp>
#include <shoal/detail/sched/attempt.hpp>
#include <shoal/detail/team/core.hpp>

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "team/control_message.hpp"
#include "team/core_state.hpp"
#include "team/messenger.hpp"

namespace shoal::team {

namespace {

// The window is that of the real link.
constexpr net::LinkOptions kOptions{8UL << 10U, std::numeric_limits<std::size_t>::max()};

/// Takes the place of a link to a rank of a team. Its messages are encoded, and counted as queued.
class WithheldLink final : public net::Link {
 public:
  WithheldLink(TeamCore& team, Rank member, net::Lane lane);
  /// Drops the messages that are left: they count as processed.
  ~WithheldLink() override;

  [[nodiscard]] bool is_to(const TeamCore& team, Rank member, net::Lane lane) const {
    return &team_ == &team && member_ == member && lane_ == lane;
  }
  /// Appends the messages to the real link. **Blocks**: as send().
  void release();

 protected:
  void announce(bool /*polls_next*/) override {}

 private:
  /// Moves to the first message that is left; returns false if there is none.
  bool find();
  void pass();
  void append_to(net::Link& link);
  void drop();
  [[nodiscard]] std::byte* place() const { return packet_->body() + offset_; }

  TeamCore& team_;
  const Rank member_;
  const net::Lane lane_;
  net::PacketList packets_;  // behind packet_
  net::PacketHolder packet_;
  std::size_t offset_ = 0;  // of the message, in packet_
  net::Run run_;
  std::uint64_t left_ = 0;  // messages of the run
};

/// The messages of one attempt.
class WithheldMessages final : public sched::Effect {
 public:
  [[nodiscard]] net::Link& link(TeamCore& team, Rank member, net::Lane lane);
  void release() override;

 private:
  std::vector<std::unique_ptr<WithheldLink>> links_;
};

// Nothing of the control lane is recorded: traces get the messages when they are sent.
WithheldLink::WithheldLink(TeamCore& team, Rank member, net::Lane lane)
    : Link(team.messenger().rank(), team.to_world(member), net::Lane::control, kOptions),
      team_(team),
      member_(member),
      lane_(lane) {}

WithheldLink::~WithheldLink() {
  packets_.append(take());
  while (find()) {
    drop();
    pass();
  }
}

bool WithheldLink::find() {
  while (left_ == 0) {
    if (packet_ != nullptr && offset_ < packet_->messages().size() &&
        net::read_run(packet_->messages(), offset_, run_)) {
      left_ = run_.count;
      continue;
    }
    packet_.reset(packets_.pop_front());
    offset_ = 0;
    if (packet_ == nullptr) return false;
  }
  return true;
}

void WithheldLink::pass() {
  offset_ += run_.step();
  --left_;
}

void WithheldLink::release() {
  packets_.append(take());
  while (find()) {
    append_to(team_.admit_to(member_, lane_, run_.handler));
    pass();
  }
}

// Of memory beside a packet, its first message stands for all.
void WithheldLink::append_to(net::Link& link) {
  const net::MessageHeader header{run_.handler, run_.signature, run_.size_bytes, run_.team,
                                  run_.sender};
  const net::RunPrefix* const prefix =
      (run_.handler & net::kPrefixBit) != 0 ? &run_.prefix : nullptr;
  const std::span<const std::byte> bytes(place(), run_.size_bytes);
  if (packet_->pieces() != nullptr) {
    link.append_pieces(header, bytes.first(bytes.size() - sizeof(std::uintptr_t)),
                       std::move(packet_->out_of_band->pieces), prefix, false);
    return;
  }
  const std::size_t size_bytes = packet_->messages().size();
  const std::size_t extra_bytes = std::exchange(packet_->accounted_bytes, size_bytes) - size_bytes;
  const bool closed = link.append(
      header, extra_bytes,
      [bytes](std::span<std::byte> to) {
        if (!bytes.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
      },
      net::Link::NoPoll(), prefix);
  if (closed && !team_.is_local(link)) team_.flush();
}

void WithheldLink::drop() {
  if ((run_.handler & net::kObjectBit) != 0 && packet_->pieces() == nullptr) {
    delete net::object_at(place() + run_.size_bytes - sizeof(std::uintptr_t));
  }
  Messenger& messenger = team_.messenger();
  if (run_.sender != 0) acknowledge(messenger.world(), messenger.rank(), run_.sender, 1);
  team_.counts.messages_processed(team_.scheduler().count_slot());
}

net::Link& WithheldMessages::link(TeamCore& team, Rank member, net::Lane lane) {
  for (const std::unique_ptr<WithheldLink>& one : links_) {
    if (one->is_to(team, member, lane)) return *one;
  }
  return *links_.emplace_back(std::make_unique<WithheldLink>(team, member, lane));
}

void WithheldMessages::release() {
  for (const std::unique_ptr<WithheldLink>& one : links_) one->release();
}

}  // namespace

net::Link& withheld_link(sched::Attempt& attempt, TeamCore& team, Rank member, net::Lane lane) {
  if (attempt.messages() == nullptr) attempt.set_messages(std::make_unique<WithheldMessages>());
  return static_cast<WithheldMessages&>(*attempt.messages()).link(team, member, lane);
}

}  // namespace shoal::team
