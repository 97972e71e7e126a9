#pragma once
// Invocations that wait on one rank of a team, by context.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/object/invocation.hpp>
#include <shoal/detail/sync/list.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shoal::object {

/// The contexts take turns: each runs up to kTakenMax invocations, and then the next context does.
/// With more than kDrainAbove invocations in the queue, a context runs all of its own. One context
/// runs one invocation at a time; those without a context are free of this, and wait for their
/// epochs apart. Its owner locks.
///
/// Invocations are in the windows of their senders until they have run. They leave the windows when
/// they, or the one that their context is at, wait for more than the turn: so every one that is in
/// a window is left to the turn's owner alone. While that waits for room, all leave.
class RunQueue {
 public:
  static constexpr std::size_t kDrainAbove = 256;
  static constexpr int kTakenMax = 16;

  /// Invocations of one context; exists while it has some, or one runs.
  struct Context {
    std::uint64_t id = 0;
    InvocationList waiting;
    bool is_busy = false;     // one runs
    bool is_ready = false;    // in the list of those that may be taken
    bool is_blocked = false;  // the first one may not run yet
    bool is_free = false;     // its invocations have no context, and wait for the epoch `id`
    bool is_parked = false;   // the one that runs waits, or has waited
    Invocation* in_window = nullptr;  // the first one that may be; those before have left
    sync::ListLink<Context> link;

    [[nodiscard]] std::unique_ptr<Invocation> pop() {
      if (in_window == waiting.first()) in_window = in_window->next;
      return waiting.pop();
    }
    void leave_windows() {
      for (; in_window != nullptr; in_window = in_window->next) in_window->leave_window();
    }
  };
  struct Taken {
    InvocationList list;  // empty: none may run
    Context* context = nullptr;
  };
  using MayRun = FunctionRef<bool(const Invocation&)>;

  void push(std::unique_ptr<Invocation> invocation);
  /// The next invocations that may run, of one context: up to kTakenMax, or those of one packet.
  /// done() ends them. Invocations for which
  /// `may_run` is false wait for retry(), with all later ones of their contexts. One without a
  /// context waits with those of its epoch.
  [[nodiscard]] Taken take(MayRun may_run);
  /// Puts the taken invocations that have not begun back to the front.
  void put_back(Taken& taken);
  void done(Context& context);
  /// The invocation of the context that runs is about to wait: those behind it leave the windows.
  void park(Context& context);
  /// All that wait, and that come, leave the windows of their senders.
  void open_windows(bool open);
  /// Tries again the invocations that could not run before `epoch`.
  void retry(std::uint32_t epoch);
  /// Moves all invocations that wait to `cleared`; done() must still be called for those that run.
  void clear(InvocationList& cleared);

  /// Returns whether there may be an invocation that may run.
  [[nodiscard]] bool is_ready() const { return !ready_.empty(); }
  /// Returns the number of invocations that wait for retry(), including those after them in their
  /// contexts.
  [[nodiscard]] std::size_t blocked_count() const;
  [[nodiscard]] const std::vector<Context*>& blocked() const { return blocked_; }
  /// Returns an invocation that waits, but not for retry(); nullptr if there is none.
  [[nodiscard]] const Invocation* example() const;
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Sets whether the section waits for all invocations: then a context runs all of its own before
  /// the next one.
  void set_draining(bool draining) { is_draining_ = draining; }

 private:
  void make_ready(Context& context, bool first = false);
  void block(Context& context);
  void block_first_free();

  [[nodiscard]] Context& context_of(std::uint64_t id);

  using Contexts = std::unordered_map<std::uint64_t, Context>;
  Contexts contexts_;
  Contexts::node_type spare_;  // of the last one that has ended: saves the memory of the next one
  Context free_;               // without a context: never busy, nor blocked
  std::map<std::uint32_t, Context> free_by_epoch_;  // blocked
  sync::List<Context, &Context::link> ready_;
  std::vector<Context*> blocked_;
  std::size_t size_ = 0;
  bool is_draining_ = false;
  bool has_open_windows_ = false;
};

}  // namespace shoal::object
