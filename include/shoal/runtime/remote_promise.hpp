#pragma once
// Promises that are fulfilled from another rank, and calls that return a future.

#include <shoal/am/archive.hpp>
#include <shoal/base/check.hpp>
#include <shoal/base/ids.hpp>
#include <shoal/sched/future.hpp>
#include <shoal/sync/mutex.hpp>
#include <shoal/term/scope.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace shoal {

/// Stands for a promise of type T on some rank; travels in messages. See World::publish().
template <class T>
struct RemotePromise {
  int rank = -1;
  std::uint64_t number = 0;
};

/// An exception that a function called on another rank has thrown.
class RemoteError : public Error {
 public:
  RemoteError(Rank rank, std::string text);
  [[nodiscard]] Rank rank() const { return rank_; }
  /// what() of the original exception.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  Rank rank_;
  std::string text_;
};

namespace runtime {

/// The promises of one rank that others may fulfil. When the scope that one was published in fails,
/// it gets that failure. Any thread.
class PromiseTable final : private term::Unsatisfied {
 public:
  explicit PromiseTable(term::Scope& world);
  ~PromiseTable();
  PromiseTable(const PromiseTable&) = delete;
  PromiseTable& operator=(const PromiseTable&) = delete;

  template <class T>
  std::uint64_t add(Promise<T> promise, term::Scope& scope) {
    return add_entry(std::make_unique<Entry<T>>(std::move(promise)), scope);
  }
  /// Takes it out; nothing, if its scope has failed. **Errors**: CheckError when it is not there:
  /// it was fulfilled already, or its type is another.
  template <class T>
  std::optional<Promise<T>> take(std::uint64_t number) {
    const std::unique_ptr<EntryBase> entry = take_entry(number, type_signature<T>());
    if (entry == nullptr) return std::nullopt;
    return std::move(static_cast<Entry<T>&>(*entry).promise);
  }
  /// Gives it the exception, whatever its type, unless its scope has failed.
  void fail(std::uint64_t number, std::exception_ptr error);

 private:
  struct EntryBase {
    virtual ~EntryBase() = default;
    virtual void fail(std::exception_ptr error) = 0;
    std::uint32_t signature = 0;
    std::uint64_t team = 0;
  };
  struct Entries;
  template <class T>
  struct Entry final : EntryBase {
    explicit Entry(Promise<T> given) : promise(std::move(given)) {
      signature = type_signature<T>();
    }
    void fail(std::exception_ptr error) override { promise.set_exception(std::move(error)); }
    Promise<T> promise;
  };
  std::uint64_t add_entry(std::unique_ptr<EntryBase> entry, term::Scope& scope);
  void give_up(const term::Scope& failed, std::vector<term::GivenUp>& promises) override;
  [[nodiscard]] std::uint64_t unsatisfied_count() const override { return 0; }
  [[nodiscard]] std::vector<std::string> describe_unsatisfied() const override { return {}; }
  /// nullptr: its scope has failed. `signature` 0: of any type.
  std::unique_ptr<EntryBase> take_entry(std::uint64_t number, std::uint32_t signature);

  term::Scope& world_;
  sync::Mutex mutex_;
  const std::unique_ptr<Entries> entries_ SHOAL_PT_GUARDED_BY(mutex_);
  std::uint64_t numbers_ SHOAL_GUARDED_BY(mutex_) = 0;
};

}  // namespace runtime
}  // namespace shoal
