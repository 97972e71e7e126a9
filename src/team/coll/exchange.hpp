#pragma once
// Pieces of operations: sending them, and the operations that wait for them.

#include <shoal/detail/team/coll/collectives.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/immutable.hpp>
#include <shoal/large_message.hpp>
#include <shoal/message.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "team/messenger.hpp"

namespace shoal::team {

struct TeamCalls;

inline void copy_bytes(std::span<const std::byte> from, std::span<std::byte> to) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

/// A value that is multicast as a payload.
struct Announcement {
  std::uint64_t size = 0;       // 0: there is none
  std::uint64_t multicast = 0;  // number of the multicast at the root
};

/// Header of the messages of an operation; `place` holds short values.
struct PieceHeader {
  /// Value of `inline_size` that announces a payload: a block, for which the receiver makes memory.
  static constexpr std::uint8_t kPayloadBlock = 0xff;

  std::uint64_t sequence = 0;
  Announcement announced{};
  std::uint32_t phase = 0;
  std::int32_t source = 0;
  std::int32_t root = 0;
  std::uint32_t type = 0;  // of the values
  Kind kind = Kind::barrier;
  std::uint8_t inline_size = 0;
  std::uint16_t operation = 0;  // hash of what combines the values; 0: it has no name
  std::array<std::byte, Block::kInlineMax> place{};
};

/// Receiver of the pieces of collective operations, one per rank of a team: gives each piece to its
/// operation, or keeps it until that begins on this rank.
class Exchange final : private Unsatisfied {
 public:
  explicit Exchange(TeamCore& core);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] TeamCore& core() const { return core_; }
  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool is_local(Rank member) const;
  [[nodiscard]] bool in_one_process() const;
  /// Returns whether a value of this size travels as a payload between processes. In a dry run none
  /// does: the bytes of payloads do not travel then, and programs need their values.
  [[nodiscard]] bool goes_as_payload(std::size_t value_bytes) const {
    return value_bytes >= kLargeMessageBytes && core_.messenger().carries_payloads();
  }

  // --- for callers of operations; see Collectives

  /// Makes the next operation, and gives it the pieces that have come already.
  SharedOperation enter(const Call& call);
  const std::vector<Block>& wait(const SharedOperation& operation);
  void then(const SharedOperation& operation, const sync::Ref<Result>& result);

  /// Adds the operations that have begun here, for reports. **Caller**: any thread.
  void add_to(TeamCalls& calls) const;

  // --- for operations

  /// Sends a part of a large value; `then` runs when it may be reused.
  void send_payload(Rank target, std::span<const std::byte> bytes, const PieceHeader& header,
                    Function<void()> then);
  void on_piece(const PieceHeader& header, Block block);
  /// Its coroutine stands at its end.
  void complete(Operation& operation);
  /// Called when an operation has thrown the current exception.
  void fail(const Operation& operation);

 private:
  friend class Operation;
  struct Table;

  void flush() const;
  [[nodiscard]] const std::vector<Block>& after_completion(const Operation& operation) const;

  struct Difference;
  [[nodiscard]] static bool is_of(const PieceHeader& piece, const Call& call);
  /// Gives an operation the pieces that have come before it began here.
  void take_early(Operation& operation);
  /// Fails the team with the operation that has begun here, and that of the member which has sent
  /// a piece of another one.
  void name_both(const PieceHeader& piece);
  /// The operation ended in an error: what comes for it later is dropped.
  void give_up(Operation& operation);
  struct Announcements;
  /// Message that announces a payload; memory for it; and its end.
  void on_announcement(const Message& message, const LargeHeader& large, const PieceHeader& header);
  [[nodiscard]] std::span<std::byte> place_of(std::size_t size_bytes, const PieceHeader& header);
  void on_payload(const PieceHeader& header);
  [[nodiscard]] std::uint64_t unsatisfied_count() const override;
  [[nodiscard]] std::vector<std::string> describe_unsatisfied() const override;
  void give_up(const TeamCore& failed, std::vector<GivenUp>& promises) override;

  TeamCore& core_;
  const Rank rank_;
  const int size_;

  mutable sync::Mutex mutex_;
  const std::unique_ptr<Table> table_ SHOAL_PT_GUARDED_BY(mutex_);
};

/// Handlers of pieces: short values; longer ones, which ranks of a process share; and objects.
/// Handlers made for each team would cost it microseconds.
struct Pieces {
  static void brief(Exchange& exchange, const PieceHeader& header) {
    exchange.on_piece(header, Block(std::span(header.place).first(header.inline_size)));
  }
  static void shared(Exchange& exchange, const PieceHeader& header, Immutable<Bytes> bytes) {
    exchange.on_piece(header, Block(std::move(bytes)));
  }
  static void object(Exchange& exchange, const PieceHeader& header, SharedValue object) {
    exchange.on_piece(header, Block(std::move(object)));
  }
};

}  // namespace shoal::team

/// The exchange of the team of a message.
template <>
struct shoal::team::ContextOf<shoal::team::Exchange> {
  static team::Exchange& get(const MessageContext& context) {
    return context.core().services().get<team::Exchange>();
  }
};
