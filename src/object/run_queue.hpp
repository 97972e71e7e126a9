#pragma once
// Invocations that wait on one rank of a team, by context.

#include <shoal/base/function.hpp>
#include <shoal/object/invocation.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shoal::object {

/// First in, first out. Owns its invocations.
class InvocationList {
 public:
  InvocationList() = default;
  ~InvocationList() { clear(); }
  InvocationList(InvocationList&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)),
        last_(std::exchange(other.last_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  InvocationList& operator=(InvocationList&&) = delete;

  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const Invocation* first() const { return first_; }
  void push(std::unique_ptr<Invocation> invocation) {
    Invocation* const added = invocation.release();
    (last_ != nullptr ? last_->next : first_) = added;
    last_ = added;
    ++size_;
  }
  /// Not when empty.
  [[nodiscard]] std::unique_ptr<Invocation> pop() {
    Invocation* const taken = first_;
    first_ = std::exchange(taken->next, nullptr);
    if (first_ == nullptr) last_ = nullptr;
    --size_;
    return std::unique_ptr<Invocation>(taken);
  }
  void clear() {
    while (!empty()) pop().reset();
  }
  /// Moves all of `other` behind the last one.
  void append(InvocationList& other) {
    while (!other.empty()) push(other.pop());
  }

 private:
  Invocation* first_ = nullptr;
  Invocation* last_ = nullptr;
  std::size_t size_ = 0;
};

/// The contexts take turns: each runs one invocation, and then the next context does. With more
/// than kDrainAbove invocations in the queue, a context runs all of its own. One context runs one
/// invocation at a time. Its owner locks.
class RunQueue {
 public:
  static constexpr std::size_t kDrainAbove = 256;

  /// Invocations of one context; exists while it has some, or one runs.
  struct Context {
    std::uint64_t id = 0;
    InvocationList waiting;
    bool is_busy = false;     // one runs
    bool is_blocked = false;  // the first one may not run yet
  };
  struct Taken {
    std::unique_ptr<Invocation> invocation;  // nullptr: none may run
    Context* context = nullptr;
  };
  using MayRun = FunctionRef<bool(const Invocation&)>;

  void push(std::unique_ptr<Invocation> invocation);
  /// The next invocation that may run; done() ends it. Invocations for which `may_run` is false
  /// wait for retry(), with all later ones of their contexts.
  [[nodiscard]] Taken take(MayRun may_run);
  void done(Context& context);
  /// Tries again the invocations that could not run.
  void retry();
  /// Moves all that wait to `cleared`; those that run are still to be done().
  void clear(InvocationList& cleared);

  /// There may be one that may run.
  [[nodiscard]] bool is_ready() const { return !ready_.empty(); }
  /// Invocations that wait for retry(), with those behind them.
  [[nodiscard]] std::size_t blocked_count() const;
  [[nodiscard]] const std::vector<Context*>& blocked() const { return blocked_; }
  /// One that waits, but not for retry(); nullptr if there is none.
  [[nodiscard]] const Invocation* example() const;
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::unordered_map<std::uint64_t, Context> contexts_;
  std::deque<Context*> ready_;
  std::vector<Context*> blocked_;
  std::size_t size_ = 0;
};

}  // namespace shoal::object
