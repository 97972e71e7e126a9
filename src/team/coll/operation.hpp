#pragma once
// One collective operation on one rank: a coroutine that is resumed by the messages it waits for.

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/sync/block_pool.hpp>
#include <shoal/trace.hpp>

#include "team/coll/exchange.hpp"
#include "team/payload_multicast.hpp"
#include "team/team_state.hpp"

#include <atomic>
#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace shoal::team {

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
    if (result_ != nullptr) result_->break_off();
  }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  /// Coroutine of an algorithm. It starts when it is called, and ends by telling its Exchange.
  class Body {
   public:
    struct promise_type;
  };
  class Receive;
  class InHandler;

  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }
  [[nodiscard]] const Call& call() const { return call_; }
  [[nodiscard]] WaitedOperation waited_operation() const {
    return {name_of(call_.kind), sequence_, call_.has_root() ? call_.root.value() : -1};
  }
  /// It has ended.
  [[nodiscard]] bool is_done() const { return done_.load(std::memory_order_acquire); }
  /// Once it has ended.
  [[nodiscard]] const std::vector<Block>& results() const { return results_; }

  // --- for algorithms

  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] Rank root() const { return call_.root; }
  /// The members, renumbered so that the root is 0.
  [[nodiscard]] int number() const { return (rank_.value() - call_.root.value() + size_) % size_; }
  [[nodiscard]] Rank rank_of(int number) const {
    return Rank((number + call_.root.value()) % size_);
  }
  [[nodiscard]] Rank neighbour(int distance) const {
    return Rank((rank_.value() + distance + size_) % size_);
  }
  /// Returns whether all members are ranks of this process.
  [[nodiscard]] bool in_one_process() const { return in_.in_one_process(); }
  [[nodiscard]] bool goes_as_payload(std::size_t value_bytes) const {
    return in_.goes_as_payload(value_bytes);
  }

  /// A large block for another process travels as a payload, without copies in between.
  void send(Rank target, std::uint32_t phase, const Block& block = {});
  /// To all others.
  void multicast(std::uint32_t phase, const Block& block, const Announcement& announced = {});
  /// Awaits a piece.
  Receive receive(Rank source, std::uint32_t phase);

  // Payloads straight from memory to memory, in three steps: the receiver says that the place is
  // ready, the sender sends, and its memory is released.
  void expect(Rank source, std::uint32_t phase, std::span<std::byte> place);
  Receive ready(Rank target, std::uint32_t phase);
  void send_payload(Rank target, std::uint32_t phase, std::span<const std::byte> bytes);
  Receive released(std::uint32_t phase);

  // Payloads of one member for all others, in segments along a tree; `released` of `phase` follows.
  [[nodiscard]] std::uint64_t begin_multicast(std::span<const std::byte> bytes,
                                              std::uint32_t phase);
  /// In a handler only.
  void join_multicast(Rank source, std::uint64_t multicast, std::span<std::byte> place,
                      std::uint32_t phase);
  /// Awaits that the coroutine is in a handler.
  InHandler in_handler();

  void add_result(Block block) { results_.push_back(std::move(block)); }
  void set_results(std::vector<Block> results) { results_ = std::move(results); }

 private:
  friend class Exchange;

  /// Memory for a payload.
  struct Place {
    std::int32_t source = 0;
    std::uint32_t phase = 0;
    std::span<std::byte> bytes;
  };

  // Phases that no algorithm counts up to.
  static constexpr std::uint32_t kReady = 1U << 30U;     // a receiver has its memory at hand
  static constexpr std::uint32_t kReleased = 2U << 30U;  // to itself: a payload may be reused

  [[nodiscard]] PieceHeader header(std::uint32_t phase) const;

  Exchange& in_;
  const std::uint64_t sequence_;
  const Call call_;
  const Rank rank_;
  const int size_;
  std::coroutine_handle<> body_;
  std::vector<Block> results_;
  bool failed_ = false;
  std::uint64_t trace_id_ = 0;

  // Guarded by in_.mutex_.
  std::vector<Place> places_;
  std::vector<Piece> pieces_;  // have come, and are not awaited yet
  Receive* awaited_ = nullptr;
  std::atomic<bool> done_{false};  // release and acquire: after results_
  bool has_waiter_ = false;
  sync::Ref<Result> result_;  // nullptr: none
};

/// Pooled: so is the coroutine's frame.
struct Operation::Body::promise_type : sync::Pooled {
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

/// Awaits a piece.
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

/// Awaits that the coroutine is in a handler: it may have begun in a main function or task.
class Operation::InHandler {
 public:
  explicit InHandler(Operation& operation) : operation_(operation) {}
  static bool await_ready() { return sched::in_handler(); }
  void await_suspend(std::coroutine_handle<> handle);
  static void await_resume() {}

 private:
  Operation& operation_;
};

}  // namespace shoal::team
