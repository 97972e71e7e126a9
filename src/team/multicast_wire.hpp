#pragma once
// Wire format of multicasts, and the handling by a recipient.

#include <shoal/detail/team/core.hpp>
#include <shoal/detail/team/multicast.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shoal::team {

/// Header of a message with kMulticastBit. After it follow the runs of the ranks to which the
/// recipient forwards the message, and then the arguments.
struct MulticastHeader {
  std::int32_t origin = 0;      // world rank of the sender
  std::uint32_t run_count = 0;  // number of RankRun that follow
  std::uint32_t path = 0;       // hash of all recipients and the tree
  std::uint16_t arity = 0;
  TreeShape shape{};
  std::uint8_t forwarded : 1 = 0;  // 1: by this recipient
  std::uint8_t from_root : 1 = 0;  // 1: its parent is the sender
  std::uint8_t carries : 1 = 0;    // 1: a payload comes with the message, and is passed on with it
};
static_assert(sizeof(MulticastHeader) == net::kMessageAlign);

/// Arguments that the recipients of one process share; each message has one object.
class SharedObject final : public ObjectMessage {
 public:
  SharedObject(MulticastArguments::Shared arguments, MulticastArguments::Copy copy,
               std::size_t weight)
      : arguments_(std::move(arguments)), copy_(copy), weight_(weight) {}
  /// Makes a copy of the arguments for one recipient.
  [[nodiscard]] std::unique_ptr<ObjectMessage> copy() const { return copy_(*arguments_); }
  [[nodiscard]] std::unique_ptr<SharedObject> again() const {
    return std::make_unique<SharedObject>(*this);
  }
  [[nodiscard]] std::size_t weight() const { return weight_; }

 private:
  MulticastArguments::Shared arguments_;
  MulticastArguments::Copy copy_;
  std::size_t weight_;
};

/// Recipients of a multicast, checked, and the branches of the sender.
class MulticastPlan {
 public:
  /// **Errors**: as send_multicast().
  /// For a payload of so many bytes, which travels in segments.
  MulticastPlan(TeamCore& core, const MulticastRoute& route, const Recipients& recipients,
                std::size_t payload_bytes);
  /// World ranks that are sent to directly.
  [[nodiscard]] std::vector<Rank> children() const;
  void send(const MulticastRoute& route, std::span<const std::byte> arguments) const;

  /// Returns whether the payload travels with the message, see CarriedPayload.
  [[nodiscard]] bool carries() const { return carries_; }
  [[nodiscard]] const MulticastTree& tree() const { return tree_; }
  [[nodiscard]] const std::vector<Rank>& ranks() const { return ranks_; }
  /// Returns the header of the messages of this rank to its children.
  [[nodiscard]] MulticastHeader header() const;

 private:
  TeamCore& core_;
  const net::Lane lane_;
  const std::vector<Rank> ranks_;
  const MulticastTree asked_;  // by the caller or by the measured costs
  const bool carries_;
  const MulticastTree tree_;
};

/// A message of a multicast at a recipient.
struct OpenedMulticast {
  MulticastHeader header;
  MulticastRoute route;
  Rank parent{-1};  // world rank of the sender of this message
  std::span<const RankRun> runs;
  std::span<const std::byte> arguments;
};
/// The part of a message before its arguments.
[[nodiscard]] std::vector<std::byte> multicast_part(MulticastHeader header,
                                                    std::span<const Rank> rest);
/// **Errors**: DecodeError for a message that is too short.
[[nodiscard]] OpenedMulticast open_multicast(std::span<const std::byte> message);

/// Replaces the object that the process shares by a copy; returns false if the message is dropped,
/// and there is none.
[[nodiscard]] bool own_copy(const Message& message);
/// Forwards the messages of a run, once.
void forward_multicasts(TeamCore& core, net::Lane lane, const net::Run& run, std::byte* first);

}  // namespace shoal::team
