#pragma once
// Results of an invocation on all ranks.

#include <shoal/base/check.hpp>
#include <shoal/sched/when.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

/// One future per rank of a team, in the order of ranks. Movable; each result is taken once.
template <class T>
class Futures {
 public:
  /// All results; void if T is.
  using Values = std::conditional_t<std::is_void_v<T>, void, std::vector<sched::Stored<T>>>;

  Futures() = default;
  /// Futures of all ranks, one for each.
  explicit Futures(std::vector<Future<T>> each) : each_(std::move(each)) {}
  /// Futures of results that come together. `count`: their number.
  Futures(Future<std::vector<T>> whole, std::size_t count) {
    auto promises = std::make_shared<std::vector<Promise<T>>>();
    for (std::size_t n = 0; n < count; ++n) {
      promises->emplace_back(whole.shared_state()->scheduler(), "a result of all ranks");
      each_.push_back(promises->back().future());
    }
    static_cast<void>(whole.then([promises](std::vector<T> values) {
      for (std::size_t n = 0; n < values.size(); ++n) {
        (*promises)[n].set_value(std::move(values[n]));
      }
    }));
  }

  /// Number of ranks.
  [[nodiscard]] std::size_t size() const { return each_.size(); }
  /// All results are there, or that of rank n.
  [[nodiscard]] bool is_ready() const {
    for (const Future<T>& one : each_) {
      if (!one.is_ready()) return false;
    }
    return true;
  }
  /// The result of rank n is there.
  [[nodiscard]] bool is_ready(std::size_t n) const { return at(n).is_ready(); }

  /// Waits for all results, or for that of rank n. As Future::wait().
  void wait() const {
    for (const Future<T>& one : each_) one.wait();
  }
  /// Waits for the result of rank n.
  void wait(std::size_t n) const { at(n).wait(); }

  /// Takes all results, or that of rank n, or throws its exception. As Future::get().
  Values get() {
    if constexpr (std::is_void_v<T>) {
      for (Future<T>& one : each_) one.get();
    } else {
      Values values;
      values.reserve(each_.size());
      for (Future<T>& one : each_) values.push_back(one.get());
      return values;
    }
  }
  /// Takes the result of rank n.
  T get(std::size_t n) { return at(n).get(); }

  /// One future of all results. Afterwards this has none.
  [[nodiscard]] Future<Values> whole() && { return when_all(std::move(each_)); }
  /// Runs f(results) as a task once all are there; see Future::then().
  template <class F>
  auto then(F f, std::string name = "a continuation") {
    return std::move(*this).whole().then(std::move(f), std::move(name));
  }

 private:
  [[nodiscard]] const Future<T>& at(std::size_t n) const {
    SHOAL_CHECK(n < each_.size(), "rank {} has no result: there are {}", n, each_.size());
    return each_[n];
  }
  [[nodiscard]] Future<T>& at(std::size_t n) {
    return const_cast<Future<T>&>(std::as_const(*this).at(n));
  }

  std::vector<Future<T>> each_;
};

}  // namespace shoal
