#pragma once
// Data that the main function, or other code outside the tasks of the flow, has acquired.

#include <shoal/detail/flow/sequence.hpp>
#include <shoal/detail/sched/completion.hpp>
#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/sched/task.hpp>
#include <shoal/flow_data.hpp>
#include <shoal/future.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
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
  void drop() override;

 private:
  void execute() override {}
  void take_step();
  void release();

  std::array<Access, 1> accesses_;
  Promise<void> promise_;
  Future<void> future_;
  // Counts the abandonment, and the grant or the end of the flow before it; the second one
  // releases.
  std::atomic<int> steps_{0};
  bool is_dropped_ = false;  // the flow has ended
};

/// Releases the datum when it is destroyed.
struct GiveBack {
  void operator()(AcquireTask* task) const;
};
using AcquiredTask = std::unique_ptr<AcquireTask, GiveBack>;

/// Wait for a completion that does not come when the team of the flow has failed.
class TeamWait final : public sched::Waitable {
 public:
  TeamWait(sched::Completion& what, const sched::TaskScope& team)
      : Waitable(what.scheduler()), what_(what), team_(team) {}

  void wait();
  /// Returns the failure of the team that has ended the wait; nullptr if nothing has.
  [[nodiscard]] const std::exception_ptr& failure() const { return failure_; }

  bool enlist(sync::Waiter& waiter) override { return what_.enlist(waiter); }
  bool withdraw(sync::Waiter& waiter) override;
  [[nodiscard]] std::string describe() const override { return what_.describe(); }
  [[nodiscard]] std::string trace_text() const override { return what_.trace_text(); }
  [[nodiscard]] bool is_over() const override { return what_.is_over(); }
  [[nodiscard]] bool needs(const sched::Task& task) const override { return what_.needs(task); }
  [[nodiscard]] std::uint64_t join() const override { return what_.join(); }
  [[nodiscard]] const sched::TaskScope* ending_scope() const override { return &team_; }
  [[nodiscard]] sched::Cancellable cancellable() const override {
    return sched::Cancellable::by_team;
  }

 private:
  sched::Completion& what_;
  const sched::TaskScope& team_;
  std::exception_ptr failure_;
};

/// Task of the caller's team that goes on with a datum once it is granted; with an error in its
/// place, once it will not be, as the team of the flow has failed.
class AcquiredLater : public sched::Task {
 public:
  explicit AcquiredLater(AcquiredTask acquired);
  static void submit(std::unique_ptr<AcquiredLater> task);
  void run() final;
  [[nodiscard]] std::string name() const final { return "acquire_async()"; }

 private:
  virtual void go_on(AcquiredTask acquired, std::exception_ptr error) = 0;

  AcquiredTask acquired_;
  TeamWait wait_;
};

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

namespace flow {

/// Fulfils a promise of the datum.
template <class T, Mode M>
class AcquirePromise final : public AcquiredLater {
 public:
  AcquirePromise(AcquiredTask acquired, Promise<Acquired<T, M>> promise)
      : AcquiredLater(std::move(acquired)), promise_(std::move(promise)) {}

 private:
  void go_on(AcquiredTask acquired, std::exception_ptr error) override {
    if (error != nullptr) return promise_.set_exception(std::move(error));
    promise_.set_value(Acquired<T, M>(std::move(acquired)));
  }

  Promise<Acquired<T, M>> promise_;
};

}  // namespace flow

}  // namespace shoal
