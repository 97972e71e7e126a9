#pragma once
// The promises of one rank that other ranks may fulfil.

#include <shoal/am/archive.hpp>
#include <shoal/base/function.hpp>
#include <shoal/sched/future.hpp>
#include <shoal/sync/mutex.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace shoal::messaging {

class Channel;

/// When the team that a promise was published in fails, the promise gets that failure. Any thread.
class PromiseTable final {
 public:
  /// Gives a promise the failure of its scope.
  using GivenUp = Function<void(const std::exception_ptr&)>;

  PromiseTable();
  ~PromiseTable();
  PromiseTable(const PromiseTable&) = delete;
  PromiseTable& operator=(const PromiseTable&) = delete;

  /// Number of the promise, which is not used again.
  template <class T>
  std::uint64_t add(Promise<T> promise, Channel& channel) {
    return add_entry(std::make_unique<Entry<T>>(std::move(promise)), channel);
  }
  /// Takes the promise out; nothing, if its scope has failed. **Errors**: CheckError when it was
  /// fulfilled already, or has another type.
  template <class T>
  std::optional<Promise<T>> take(std::uint64_t number) {
    const std::unique_ptr<EntryBase> entry = take_entry(number, type_signature<T>());
    if (entry == nullptr) return std::nullopt;
    return std::move(static_cast<Entry<T>&>(*entry).promise);
  }
  /// Gives it the exception, whatever its type, unless its scope has failed.
  void fail(std::uint64_t number, std::exception_ptr error);
  /// Moves out the promises of a team that has failed.
  void give_up(std::uint64_t team, std::vector<GivenUp>& promises);

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
  std::uint64_t add_entry(std::unique_ptr<EntryBase> entry, Channel& channel);
  /// nullptr: its scope has failed. `signature` 0: of any type.
  std::unique_ptr<EntryBase> take_entry(std::uint64_t number, std::uint32_t signature);

  sync::Mutex mutex_;
  const std::unique_ptr<Entries> entries_ SHOAL_PT_GUARDED_BY(mutex_);
  std::uint64_t numbers_ SHOAL_GUARDED_BY(mutex_) = 0;
};

}  // namespace shoal::messaging
