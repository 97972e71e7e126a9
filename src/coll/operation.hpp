#pragma once
// One collective operation on one rank: a coroutine that is resumed by the messages it waits for.

#include <shoal/am/payload_cast.hpp>
#include <shoal/base/check.hpp>
#include <shoal/trace/trace.hpp>

#include "coll/exchange.hpp"

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace shoal::coll {

/// Message of one member to another in one phase of an operation.
struct Piece {
  std::uint32_t phase = 0;
  std::int32_t source = 0;
  Announcement announced;
  Block block;
};

class Operation final : public std::enable_shared_from_this<Operation> {
 public:
  Operation(Exchange& in, std::uint64_t sequence, const Call& call)
      : in_(in), sequence_(sequence), call_(call), rank_(in.rank()), size_(in.size()) {
    if (!trace::on<trace::Category::message>()) return;
    trace_id_ = trace::new_id();
    trace::collective_begin(trace_id_, trace::intern(name_of(call.kind)));
  }
  ~Operation() {
    if (body_) body_.destroy();
  }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  /// The coroutine. It starts when it is called, and ends by telling its Exchange.
  class Body {
   public:
    struct promise_type;
  };

  // The algorithms. Called once, one of them.
  Body barrier();
  /// Into `place` on all members but the root; without a place, into a result.
  Body broadcast(Block mine, std::optional<std::span<std::byte>> place);
  Body reduce(Block mine, Combine combine);
  /// Into `place`; without one, into a result.
  Body allreduce(Block mine, Combine combine, std::optional<std::span<std::byte>> place);
  Body allreduce_ring(std::span<std::byte> place, std::size_t element_bytes, CombineInto combine);
  Body gather(Block mine);
  Body allgather(Block mine);
  Body scan(Block mine, Combine combine);
  Body alltoall(std::vector<Block> mine);

  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }
  [[nodiscard]] const Call& call() const { return call_; }
  [[nodiscard]] term::Standing standing() const { return {name_of(call_.kind), sequence_}; }
  [[nodiscard]] std::string describe() const { return standing().text(); }
  /// Once it has ended.
  [[nodiscard]] const std::vector<Block>& results() const { return results_; }

 private:
  friend class Exchange;
  class Receive;

  // Phases that no algorithm counts up to.
  static constexpr std::uint32_t kReady = 1U << 30U;     // a receiver has its memory at hand
  static constexpr std::uint32_t kReleased = 2U << 30U;  // to itself: a payload may be reused

  [[nodiscard]] PieceHeader header(std::uint32_t phase) const;
  void send(Rank target, std::uint32_t phase, const Block& block = {});
  /// To all others, in phase 0.
  void multicast(const Block& block, const Announcement& announced);
  /// Into the target's place_, which has said that it is ready. kReleased follows.
  void send_payload(Rank target, std::uint32_t phase, std::span<const std::byte> bytes);
  Receive receive(Rank source, std::uint32_t phase);
  [[nodiscard]] std::span<std::byte> place_of(std::size_t size_bytes) const {
    SHOAL_CHECK(
        size_bytes <= place_.size(),
        "{}: a member sends more bytes than this one gives room for: all must give values of "
        "the same size",
        describe());
    return place_.first(size_bytes);
  }

  // The members, renumbered so that the root is 0.
  [[nodiscard]] int number() const { return (rank_.value() - call_.root.value() + size_) % size_; }
  [[nodiscard]] Rank rank_of(int number) const {
    return Rank((number + call_.root.value()) % size_);
  }
  /// All but the root.
  [[nodiscard]] std::vector<Rank> others() const;
  /// This member in the tree of the payload.
  [[nodiscard]] messaging::CastPlace cast_place() const;
  [[nodiscard]] Rank neighbour(int distance) const {
    return Rank((rank_.value() + distance + size_) % size_);
  }

  Exchange& in_;
  const std::uint64_t sequence_;
  const Call call_;
  const Rank rank_;
  const int size_;
  std::coroutine_handle<> body_;
  std::vector<Block> results_;
  std::span<std::byte> place_;  // where payloads go
  bool failed_ = false;
  std::uint64_t trace_id_ = 0;

  // Guarded by in_.mutex_.
  std::vector<Piece> pieces_;  // have come, and are not awaited yet
  Receive* awaited_ = nullptr;
  bool done_ = false;
  bool has_waiter_ = false;
  std::unique_ptr<Completion> completion_;
};

struct Operation::Body::promise_type {
  template <class... Args>
  explicit promise_type(Operation& of, Args&...) : operation(of) {}

  struct Last {
    static bool await_ready() noexcept { return false; }
    static void await_suspend(std::coroutine_handle<promise_type> handle) noexcept {
      Operation& operation = handle.promise().operation;
      if (operation.trace_id_ != 0) trace::collective_end(operation.trace_id_);
      operation.in_.complete(operation);
    }
    static void await_resume() noexcept {}
  };

  Body get_return_object() {
    operation.body_ = std::coroutine_handle<promise_type>::from_promise(*this);
    return {};
  }
  static std::suspend_never initial_suspend() noexcept { return {}; }
  static Last final_suspend() noexcept { return {}; }
  static void return_void() {}
  void unhandled_exception() {
    operation.failed_ = true;
    operation.in_.fail(operation);
  }

  Operation& operation;
};

/// Waits for a piece.
class Operation::Receive {
 public:
  Receive(Operation& operation, Rank source, std::uint32_t phase)
      : operation_(operation), source_(source.value()), phase_(phase) {}
  static bool await_ready() { return false; }
  bool await_suspend(std::coroutine_handle<> handle) {
    const sync::Lock lock(operation_.in_.mutex_);
    if (take_from(operation_.pieces_)) return false;
    handle_ = handle;
    operation_.awaited_ = this;
    return true;
  }
  Piece await_resume() { return std::move(piece_); }

 private:
  friend class Exchange;
  [[nodiscard]] bool fits(const Piece& piece) const {
    return piece.source == source_ && piece.phase == phase_;
  }
  bool take_from(std::vector<Piece>& pieces);

  Operation& operation_;
  const std::int32_t source_;
  const std::uint32_t phase_;
  std::coroutine_handle<> handle_;
  Piece piece_;
};

}  // namespace shoal::coll
