#pragma once
// Variables that one rank writes and all read.

#include <shoal/detail/memory/cache_core.hpp>
#include <shoal/detail/memory/compared.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/global_memory.hpp>

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>

namespace shoal {

/// A variable of one rank, its owner, that others read (ppl paper, section 2.3: gvar). A rank
/// fetches the value when it first reads it, and keeps the copy until refresh(): the program has to
/// call that when a copy is out of date, as with ObjectCache.
///
/// **Caller** of constructor and destructor: all ranks, in the same order, with barriers as for
/// GlobalVector.
template <memory::Copied T>
class GlobalVar {
 public:
  /// Makes a variable of `owner`, which is zero until the owner sets it.
  GlobalVar(GlobalMemory& memory, Rank owner,
            const std::source_location& place = std::source_location::current())
      : memory_(memory), place_(memory.collective_allocate<T>(1, place).on(owner)) {}
  ~GlobalVar() { memory_.collective_free(place_); }
  GlobalVar(const GlobalVar&) = delete;
  GlobalVar& operator=(const GlobalVar&) = delete;

  /// Rank that has the value.
  [[nodiscard]] Rank owner() const { return place_.rank(); }

  /// Sets the value. **Caller**: the owner. **Errors**: CheckError on other ranks.
  void set(const T& value) {
    SHOAL_CHECK(memory_.rank() == owner(),
                "memory '{}': set() of a GlobalVar of rank {} on rank {}: only its owner writes it",
                memory_.name(), owner().value(), memory_.rank().value());
    static_cast<void>(memory_.put(place_, value));
  }
  /// Returns the value, and fetches it first if this rank has no copy. **Blocks**: parks the task
  /// when the value must be fetched; always if the memory checks accesses. **Errors**:
  /// StaleReadError then, if the copy is out of date.
  [[nodiscard]] T get() {
    if (memory_.rank() == owner()) return memory_.get(place_);
    memory_.core().check_may_wait("get() of a GlobalVar");
    std::optional<T> kept;
    std::uint64_t refreshes = 0;
    {
      const sync::Lock lock(mutex_);
      if (copy_ && !memory_.checks()) return *copy_;
      kept = copy_;
      refreshes = refreshes_;
    }
    const T value = memory_.get(place_);
    bool refreshed = false;
    {
      const sync::Lock lock(mutex_);
      refreshed = refreshes != refreshes_;
      if (!refreshed && !kept) copy_ = value;  // else it may be from before the refresh
    }
    if (kept && !refreshed && !memory::same_value(value, *kept)) refuse_stale();
    return value;
  }
  /// Drops the copy of this rank: the next get() fetches the value again.
  void refresh() {
    const sync::Lock lock(mutex_);
    copy_.reset();
    ++refreshes_;
  }

 private:
  [[noreturn]] void refuse_stale() const {
    throw StaleReadError(
        "memory '" + memory_.name() + "': rank " + std::to_string(memory_.rank().value()) +
        " reads its copy of a GlobalVar of rank " + std::to_string(owner().value()) +
        ", which has set it since: call " + "refresh() between the change and the read");
  }

  GlobalMemory& memory_;
  const GlobalPtr<T> place_;
  sync::Mutex mutex_;
  std::optional<T> copy_ SHOAL_GUARDED_BY(mutex_);
  std::uint64_t refreshes_ SHOAL_GUARDED_BY(mutex_) = 0;
};

}  // namespace shoal
