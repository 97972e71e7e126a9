#pragma once
// Results of an invocation on all ranks.

#include <shoal/detail/base/check.hpp>
#include <shoal/when.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

/// One future per rank of a team, in the order of ranks. Movable; each result is taken once.
template <class T>
class [[nodiscard]] Futures {
 public:
  /// All results; void if T is.
  using Values = std::conditional_t<std::is_void_v<T>, void, std::vector<sched::Stored<T>>>;

  Futures() = default;
  /// Futures of all ranks, one for each.
  explicit Futures(std::vector<Future<T>> each) : each_(std::move(each)) {}
  /// Futures of `count` results that arrive together.
  Futures(Future<Values> whole, std::size_t count)
      : each_(count), whole_(std::move(whole)), taken_(count) {}

  /// Number of ranks.
  [[nodiscard]] std::size_t size() const { return each_.size(); }
  /// Returns whether all results are there.
  [[nodiscard]] bool is_ready() const {
    if (whole_.valid()) return whole_.is_ready();
    for (const Future<T>& one : each_) {
      if (!one.is_ready()) return false;
    }
    return true;
  }
  /// Returns whether the result of rank n is there.
  [[nodiscard]] bool is_ready(std::size_t n) const {
    const Future<T>& one = at(n);
    return whole_.valid() ? whole_.is_ready() : one.is_ready();
  }

  /// Waits for all results. **Caller**, **Blocks**, **Errors**: as Future::wait().
  void wait() const {
    if (whole_.valid()) return whole_.wait();
    for (const Future<T>& one : each_) one.wait();
  }
  /// Waits for the result of rank n. **Caller**, **Blocks**, **Errors**: as Future::wait().
  void wait(std::size_t n) const {
    const Future<T>& one = at(n);
    if (whole_.valid()) return whole_.wait();
    one.wait();
  }

  /// Waits for all results, at most for `delay`, a std::chrono::duration. See Future::wait_for().
  template <sched::Duration D>
  [[nodiscard]] FutureStatus wait_for(D delay) const {
    return wait_until_ns(due_ns(delay));
  }
  /// Waits for the result of rank n, at most for `delay`, a std::chrono::duration. See
  /// Future::wait_for().
  template <sched::Duration D>
  [[nodiscard]] FutureStatus wait_for(std::size_t n, D delay) const {
    const Future<T>& one = at(n);
    return whole_.valid() ? whole_.wait_for(delay) : one.wait_for(delay);
  }
  /// Waits for all results, at most until `time`, a std::chrono::time_point or a time of
  /// Team::now_ns(). See Future::wait_for().
  template <sched::Deadline D>
  [[nodiscard]] FutureStatus wait_until(D time) const {
    return wait_until_ns(due_ns(time));
  }
  /// Waits for the result of rank n, at most until `time`, a std::chrono::time_point or a time of
  /// Team::now_ns(). See Future::wait_for().
  template <sched::Deadline D>
  [[nodiscard]] FutureStatus wait_until(std::size_t n, D time) const {
    const Future<T>& one = at(n);
    return whole_.valid() ? whole_.wait_until(time) : one.wait_until(time);
  }

  /// Waits for all results and returns them, or throws the first exception in the order of ranks,
  /// which stands for the others. **Caller**, **Blocks**, **Errors**: as Future::get().
  Values get() {
    if (whole_.valid()) return take_whole().get();
    const GivesUpErrors others{each_};
    if constexpr (std::is_void_v<T>) {
      for (Future<T>& one : each_) one.get();
    } else {
      Values values;
      values.reserve(each_.size());
      for (Future<T>& one : each_) values.push_back(one.get());
      return values;
    }
  }
  /// Waits for the result of rank n and returns it, or throws its exception. **Caller**,
  /// **Blocks**, **Errors**: as Future::get().
  T get(std::size_t n) {
    Future<T>& one = at(n);
    if constexpr (!std::is_void_v<T>) {
      if (whole_.valid()) return take_from_whole(n);
    }
    return one.get();
  }

  /// Makes one future of all results of these futures, which are not valid afterwards.
  [[nodiscard]] Future<Values> whole() && {
    return whole_.valid() ? take_whole() : when_all(std::move(each_));
  }
  /// Runs f(results) as a task once all results are there; returns the future of its result, and
  /// does not block. See Future::then().
  template <class F>
  auto then(F f, std::string name = "a continuation") {
    return std::move(*this).whole().then(std::move(f), std::move(name));
  }

 private:
  // Time of the clock of their rank. Without ranks there is no wait.
  template <class D>
  [[nodiscard]] std::uint64_t due_ns(D limit) const {
    if (whole_.valid()) return due_ns_at(whole_, limit);
    return each_.empty() ? 0 : due_ns_at(each_.front(), limit);
  }
  template <class Source, class D>
  [[nodiscard]] static std::uint64_t due_ns_at(const Source& source, D limit) {
    return sched::due_ns(sched::FutureAccess::completion(source)->scheduler(), limit);
  }
  // One deadline for all of them.
  [[nodiscard]] FutureStatus wait_until_ns(std::uint64_t due_ns) const {
    if (whole_.valid()) return whole_.wait_until(due_ns);
    for (const Future<T>& one : each_) {
      if (one.wait_until(due_ns) == FutureStatus::timeout) return FutureStatus::timeout;
    }
    return FutureStatus::ready;
  }

  /// Errors that are not taken are left to the one that is.
  struct GivesUpErrors {
    std::vector<Future<T>>& futures;
    ~GivesUpErrors() {
      for (Future<T>& one : futures) {
        if (one.valid()) sched::FutureAccess::completion(one)->give_up_error();
      }
    }
  };
  [[nodiscard]] const Future<T>& at(std::size_t n) const {
    SHOAL_CHECK(n < each_.size(), "rank {} has no result: ask for those of ranks 0 to {}", n,
                each_.size() - 1);
    return each_[n];
  }
  [[nodiscard]] Future<T>& at(std::size_t n) {
    return const_cast<Future<T>&>(std::as_const(*this).at(n));
  }

  Future<Values> take_whole() {
    for (const bool taken : taken_) {
      if (taken) sched::refuse_future("one of its results was taken already");
    }
    each_.clear();
    return std::move(whole_);
  }
  // The error of all is that of each, however often it is taken.
  T take_from_whole(std::size_t n) {
    whole_.wait();
    const auto state = whole_.shared_state();
    state->rethrow_error();
    if (taken_[n]) sched::refuse_future("the result of this rank was taken already");
    taken_[n] = true;
    return std::move((*state->value)[n]);
  }

  std::vector<Future<T>> each_;  // without a value to come: the results come together
  Future<Values> whole_;         // valid: of results that come together
  std::vector<bool> taken_;      // of these, by rank
};

}  // namespace shoal
