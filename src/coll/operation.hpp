#pragma once
// One collective operation on one rank: a coroutine that goes on when what it waits for has come.

#include <shoal/coll/collectives.hpp>

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace shoal::coll {

/// What one member sends to another in one phase of an operation.
struct Piece {
  std::uint32_t phase = 0;
  std::int32_t source = 0;
  std::uint64_t announced = 0;
  Block block;
};

class Operation final : public std::enable_shared_from_this<Operation> {
 public:
  Operation(Collectives& in, std::uint64_t sequence, const Call& call)
      : in_(in), sequence_(sequence), call_(call), rank_(in.rank_), size_(in.size_) {}
  ~Operation() {
    if (body_) body_.destroy();
  }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  /// The coroutine. It starts when it is called, and ends by telling its Collectives.
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
  friend class Collectives;
  class Receive;

  // Phases that no algorithm counts up to.
  static constexpr std::uint32_t kReady = 1U << 30U;     // a receiver has its memory at hand
  static constexpr std::uint32_t kReleased = 2U << 30U;  // to itself: a payload may be reused

  [[nodiscard]] PieceHeader header(std::uint32_t phase) const;
  void send(Rank target, std::uint32_t phase, const Block& block = {}, std::uint64_t announced = 0);
  /// Into the target's place_, which has said that it is ready. kReleased follows.
  void send_payload(Rank target, std::uint32_t phase, std::span<const std::byte> bytes);
  Receive receive(Rank source, std::uint32_t phase);
  [[nodiscard]] std::span<std::byte> place_of(std::uint32_t phase, std::size_t size_bytes) const;

  // A binomial tree over the members, renumbered so that the root is 0.
  [[nodiscard]] int number() const { return (rank_.value() - call_.root.value() + size_) % size_; }
  [[nodiscard]] Rank rank_of(int number) const {
    return Rank((number + call_.root.value()) % size_);
  }
  [[nodiscard]] Rank parent() const;
  [[nodiscard]] std::vector<Rank> children() const;
  [[nodiscard]] Rank neighbour(int distance) const {
    return Rank((rank_.value() + distance + size_) % size_);
  }

  Collectives& in_;
  const std::uint64_t sequence_;
  const Call call_;
  const Rank rank_;
  const int size_;
  std::coroutine_handle<> body_;
  std::vector<Block> results_;
  std::span<std::byte> place_;     // where payloads go
  std::size_t segment_bytes_ = 0;  // of place_, for each phase; 0: all of it
  bool failed_ = false;

  // Guarded by in_.mutex_.
  std::vector<Piece> pieces_;  // have come, and nobody has asked for them
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
  friend class Collectives;
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
