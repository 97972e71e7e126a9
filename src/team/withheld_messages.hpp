#pragma once
// Messages of an attempt of a task, which travel once it has succeeded.

#include <shoal/detail/net/link.hpp>
#include <shoal/detail/sched/attempt.hpp>
#include <shoal/detail/team/core.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace shoal::team {

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
  /// Returns the link that takes the messages of `attempt` to a rank of a team.
  [[nodiscard]] static net::Link& link(sched::Attempt& attempt, TeamCore& team, Rank member,
                                       net::Lane lane);
  void release() override;

 private:
  std::vector<std::unique_ptr<WithheldLink>> links_;
};

}  // namespace shoal::team
