#pragma once
// The promises of one rank that other ranks may fulfil.

#include <shoal/archive.hpp>
#include <shoal/detail/base/function.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/sync/numbered_table.hpp>
#include <shoal/future.hpp>

#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

namespace shoal {
class TeamCore;
}

namespace shoal::team {

/// Table of the promises of one rank that other ranks may fulfil. If the team in which a promise
/// was published fails, the promise gets that failure. **Caller**: any thread.
class PromiseTable final {
 public:
  /// Function that fails a promise with the error of its team.
  using GivenUp = Function<void(const std::exception_ptr&)>;

  /// Number of the promise, which is not used again.
  template <class T>
  std::uint64_t add(Promise<T>&& promise, TeamCore& core) {
    return add_entry(sched::AnyPromise(std::move(promise)), type_signature<T>(), core);
  }
  /// Fulfils the promise, unless its team has failed. **Errors**: CheckError when it was fulfilled
  /// already, or has another type.
  template <class T, class... Value>
  void fulfill(std::uint64_t number, Value&&... value) {
    if (sched::AnyPromise promise = take_entry(number, type_signature<T>())) {
      std::move(promise).as<T>().set_value(std::forward<Value>(value)...);
    }
  }
  /// Fails the promise with the exception, whatever its type, unless its team has failed.
  void fail(std::uint64_t number, std::exception_ptr error);
  /// Moves out the promises of a team that has failed.
  void give_up(std::uint64_t team, std::vector<GivenUp>& promises);

 private:
  struct Entry {
    sched::AnyPromise promise;  // empty: given up, and not fulfilled since
    std::uint64_t team = 0;
    std::uint32_t signature = 0;
  };
  std::uint64_t add_entry(sched::AnyPromise&& promise, std::uint32_t signature, TeamCore& core);
  /// Removes the promise from the table; returns none if its team has failed. `signature` 0 stands
  /// for any type.
  sched::AnyPromise take_entry(std::uint64_t number, std::uint32_t signature);

  sync::NumberedTable<Entry> entries_;
};

}  // namespace shoal::team
