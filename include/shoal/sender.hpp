#pragma once
// Teams as schedulers, and futures as senders, of std::execution (C++26).
//
// The names, members and completions are those of the working draft of C++26 ([exec]). Where the
// standard library has them, the tags below are its own, so that its algorithms take these senders;
// before that, a program or another library calls the members. Not part of <shoal/shoal.hpp>.

#include <shoal/future.hpp>
#include <shoal/team.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>
#include <version>
#ifdef __cpp_lib_senders
#include <execution>
#endif

namespace shoal {

/// @cond internals
/// Tags and calls of std::execution.
namespace execution {

#ifdef __cpp_lib_senders
using std::get_stop_token_t;
using std::execution::completion_signatures;
using std::execution::get_completion_scheduler_t;
using std::execution::operation_state_t;
using std::execution::receiver_t;
using std::execution::scheduler_t;
using std::execution::sender_t;
using std::execution::set_error_t;
using std::execution::set_stopped_t;
using std::execution::set_value_t;
#else
struct sender_t {};
struct receiver_t {};
struct operation_state_t {};
struct scheduler_t {};
template <class... Signatures>
struct completion_signatures {};
template <class Completion>
struct get_completion_scheduler_t {};
struct get_stop_token_t {};
/// Completes a receiver with values.
struct set_value_t {
  template <class Receiver, class... Values>
  void operator()(Receiver&& receiver, Values&&... values) const noexcept {
    std::forward<Receiver>(receiver).set_value(std::forward<Values>(values)...);
  }
};
/// Completes a receiver with an error.
struct set_error_t {
  template <class Receiver, class E>
  void operator()(Receiver&& receiver, E&& error) const noexcept {
    std::forward<Receiver>(receiver).set_error(std::forward<E>(error));
  }
};
/// Completes a receiver without a result.
struct set_stopped_t {
  template <class Receiver>
  void operator()(Receiver&& receiver) const noexcept {
    std::forward<Receiver>(receiver).set_stopped();
  }
};
#endif

}  // namespace execution

namespace sched {

/// Returns whether the receiver's environment says that nobody wants the result any more.
template <class Receiver>
bool wants_stop(const Receiver& receiver) {
  if constexpr (requires {
                  receiver.get_env().query(execution::get_stop_token_t{}).stop_requested();
                }) {
    return receiver.get_env().query(execution::get_stop_token_t{}).stop_requested();
  } else {
    return false;
  }
}

/// The duty of a task to complete a receiver exactly once. A task that is dropped, as its team is
/// cancelled or has failed, completes it as stopped.
template <class Receiver>
class OwedCompletion {
 public:
  explicit OwedCompletion(Receiver& receiver) : receiver_(&receiver) {}
  OwedCompletion(OwedCompletion&& other) noexcept
      : receiver_(std::exchange(other.receiver_, nullptr)) {}
  OwedCompletion& operator=(OwedCompletion&&) = delete;
  ~OwedCompletion() {
    if (receiver_ != nullptr) execution::set_stopped_t{}(std::move(*receiver_));
  }
  template <class... Values>
  void set_value(Values&&... values) {
    execution::set_value_t{}(std::move(*take()), std::forward<Values>(values)...);
  }
  void set_error(std::exception_ptr error) {
    execution::set_error_t{}(std::move(*take()), std::move(error));
  }

 private:
  Receiver* take() { return std::exchange(receiver_, nullptr); }
  Receiver* receiver_;
};

/// The completion of a future's value.
template <class T>
struct ValueCompletion {
  using Signature = execution::set_value_t(T&&);
};
template <>
struct ValueCompletion<void> {
  using Signature = execution::set_value_t();
};

}  // namespace sched

class TeamScheduler;

/// Sender that completes in a task of a team: of TeamScheduler::schedule().
class ScheduleSender {
 public:
  using sender_concept = execution::sender_t;
  using completion_signatures =
      execution::completion_signatures<execution::set_value_t(), execution::set_stopped_t()>;

  /// The operation that start() begins.
  template <class Receiver>
  class Operation {
   public:
    using operation_state_concept = execution::operation_state_t;
    Operation(Team& team, Receiver receiver) : team_(team), receiver_(std::move(receiver)) {}
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

    /// Submits the task; the receiver is completed in it, or as stopped if its stop token asks for
    /// that now, or the team drops the task. **Caller**: any thread. **Blocks**: never.
    void start() noexcept {
      sched::OwedCompletion<Receiver> owed(receiver_);
      if (sched::wants_stop(receiver_)) return;
      team_.spawn([owed = std::move(owed)]() mutable { owed.set_value(); });
    }

   private:
    Team& team_;
    Receiver receiver_;
  };

  /// Joins the sender with a receiver.
  template <class Receiver>
  [[nodiscard]] Operation<std::decay_t<Receiver>> connect(Receiver&& receiver) const {
    return {*team_, std::forward<Receiver>(receiver)};
  }

  /// Environment of the sender: names the scheduler that completes it.
  class Env {
   public:
    explicit Env(Team& team) : team_(&team) {}
    /// Returns the scheduler of the tasks that deliver the values.
    [[nodiscard]] TeamScheduler query(
        execution::get_completion_scheduler_t<execution::set_value_t>) const noexcept;

   private:
    Team* team_;
  };
  /// Returns the environment.
  [[nodiscard]] Env get_env() const noexcept { return Env(*team_); }

 private:
  friend class TeamScheduler;
  explicit ScheduleSender(Team& team) : team_(&team) {}
  Team* team_;
};

/// @endcond

/// A team as a scheduler of std::execution: `auto s = shoal::TeamScheduler(world).schedule()`.
/// **Lifetime**: within the team's. **Errors**: the receiver's set_value() is noexcept; what its
/// continuation throws is its own matter.
class TeamScheduler {
 public:
  /// Makes it a scheduler.
  using scheduler_concept = execution::scheduler_t;
  /// Makes a scheduler for tasks of `team`.
  explicit TeamScheduler(Team& team) : team_(&team) {}
  /// Returns a sender that completes in a task of the team, on this rank.
  [[nodiscard]] ScheduleSender schedule() const noexcept { return ScheduleSender(*team_); }
  /// Whether both are of the same team.
  bool operator==(const TeamScheduler&) const noexcept = default;

 private:
  Team* team_;
};

/// @cond internals
inline TeamScheduler ScheduleSender::Env::query(
    execution::get_completion_scheduler_t<execution::set_value_t> /*tag*/) const noexcept {
  return TeamScheduler(*team_);
}

/// Sender of the value of a future, or of its exception: see as_sender().
template <class T>
class FutureSender {
 public:
  using sender_concept = execution::sender_t;
  using completion_signatures =
      execution::completion_signatures<typename sched::ValueCompletion<T>::Signature,
                                       execution::set_error_t(std::exception_ptr),
                                       execution::set_stopped_t()>;

  /// Makes a sender of the value of `future`.
  explicit FutureSender(Future<T> future) : future_(std::move(future)) {}

  /// The operation that start() begins.
  template <class Receiver>
  class Operation {
   public:
    using operation_state_concept = execution::operation_state_t;
    Operation(Future<T> future, Receiver receiver)
        : future_(std::move(future)), receiver_(std::move(receiver)) {}
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

    /// Completes the receiver in a task of the future's rank, once the future is ready: with the
    /// value or the exception, or as stopped if the stop token of the receiver asks for that now,
    /// or if the team drops the task. **Caller**: any thread. **Blocks**: never.
    void start() noexcept {
      sched::OwedCompletion<Receiver> owed(receiver_);
      if (sched::wants_stop(receiver_)) return;
      const sched::ValueRef<T> state = future_.shared_state();
      auto run = [owed = std::move(owed), future = std::move(future_)]() mutable {
        std::exception_ptr error;
        try {
          if constexpr (std::is_void_v<T>) {
            future.get();
            owed.set_value();
          } else {
            owed.set_value(future.get());
          }
          return;
        } catch (...) {
          error = std::current_exception();
        }
        // Behind the catch clause, which owns the exception as well.
        owed.set_error(std::move(error));
      };
      auto task = sched::make_function_task(sched::current_scope(state->scheduler()), "a sender",
                                            std::move(run));
      sched::submit_after(*state, std::move(task));
    }

   private:
    Future<T> future_;
    Receiver receiver_;
  };

  /// Joins the sender with a receiver, which takes the future out of it.
  template <class Receiver>
  [[nodiscard]] Operation<std::decay_t<Receiver>> connect(Receiver&& receiver) && {
    return {std::move(future_), std::forward<Receiver>(receiver)};
  }

 private:
  Future<T> future_;
};

/// @endcond

/// Makes a sender of a future: it completes a receiver with the value, or with the exception as
/// std::exception_ptr.
template <class T>
[[nodiscard]] FutureSender<T> as_sender(Future<T> future) {
  return FutureSender<T>(std::move(future));
}

}  // namespace shoal
