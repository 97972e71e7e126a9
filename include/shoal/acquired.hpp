#pragma once
// Data that the main function, or other code outside the tasks of the flow, has acquired.

#include <shoal/detail/flow/sequence.hpp>
#include <shoal/flow_data.hpp>
#include <shoal/future.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <utility>

namespace shoal {

namespace flow {

/// Entry of an acquisition in the queue of a datum: a task that does nothing.
class AcquireTask final : public FlowTask {
 public:
  AcquireTask(Sequence& sequence, const Request& request);

  void become_ready() override;
  [[nodiscard]] bool is_scheduled() const override { return false; }
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Future<void>& future() { return future_; }
  /// Parks the caller until it is granted, in place of future().get().
  void await();
  [[nodiscard]] void* object() const { return accesses_[0].object; }
  /// Abandons the wait: the datum is released as soon as it is granted.
  void abandon();

 private:
  void execute() override {}
  void release();

  std::array<Access, 1> accesses_;
  Promise<void> promise_;
  Future<void> future_;
  std::atomic<int> steps_{0};  // counts the grant and the abandonment; the second one releases
};

/// Releases the datum when it is destroyed.
struct GiveBack {
  void operator()(AcquireTask* task) const;
};
using AcquiredTask = std::unique_ptr<AcquireTask, GiveBack>;

}  // namespace flow

/// A datum that the caller has acquired. Movable. Tasks inserted later that conflict with the
/// access wait until release().
template <class T, flow::Mode M>
class Acquired {
  using Traits = flow::DataTraits<T>;

 public:
  Acquired() = default;
  /// @cond internals
  /// For the flow.
  explicit Acquired(flow::AcquiredTask task) : task_(std::move(task)) {}
  /// @endcond

  /// Returns whether this rank holds the datum: false on ranks that did not acquire it, and after
  /// release().
  [[nodiscard]] bool here() const { return task_ != nullptr; }
  /// The value: const for Mode::read. **Errors**: CheckError unless here().
  [[nodiscard]] decltype(auto) get() const& {
    SHOAL_CHECK(here(), "get() of a datum that is not acquired on this rank: ask here() first");
    if constexpr (M == flow::Mode::read) {
      return Traits::read(task_->object());
    } else {
      return Traits::write(task_->object());
    }
  }
  /// Returns a copy of the value of a temporary, which releases the datum at once. For Mode::read
  /// only. **Errors**: CheckError unless here().
  [[nodiscard]] auto get() const&& {
    static_assert(
        M == flow::Mode::read,
        "shoal: a datum is written while it is acquired, and a temporary gives it back at "
        "once: keep what acquire() returns");
    static_cast<void>(static_cast<const Acquired&>(*this).get());
    return Traits::copy(task_->object());
  }
  /// Returns the value, as get() of a named object does. **Errors**: CheckError unless here().
  [[nodiscard]] decltype(auto) operator*() const& { return get(); }
  /// Returns a copy of the value of a temporary, which releases the datum at once. **Errors**:
  /// CheckError unless here().
  [[nodiscard]] auto operator*() const&& { return std::move(*this).get(); }
  /// Releases the datum: tasks that wait for it continue. **Blocks**: never.
  void release() { task_.reset(); }

 private:
  flow::AcquiredTask task_;
};

}  // namespace shoal
