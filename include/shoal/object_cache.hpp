#pragma once
// Caches of remote objects.

#include <shoal/cache_policy.hpp>
#include <shoal/detail/base/type_name.hpp>
#include <shoal/detail/memory/cache_core.hpp>
#include <shoal/detail/memory/compared.hpp>
#include <shoal/error.hpp>
#include <shoal/global_memory.hpp>
#include <shoal/message.hpp>
#include <shoal/remote_function.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

/// A copy of an object, kept for as long as it is referenced.
template <class T>
using CacheRef = std::shared_ptr<const T>;

/// Cache of objects of other ranks' global heaps, of any type that a message can carry and of any
/// size (ppl paper, section 2.3). All ranks make theirs in the same order.
///
/// The cache lines are objects: those made by GlobalMemory::create(), or values in the heap. The
/// program keeps copies up to date, as in the paper: it changes objects in phases, and calls
/// invalidate() between a change and the reads that must see it. If the memory checks accesses,
/// each get() and lget() that finds a copy compares it with the object, and throws StaleReadError
/// if they differ: by operator== of the program's type if it has one, and by the values that
/// serialize() writes, where the order of elements of an unordered container does not count.
///
/// An object of the calling rank is not copied: its reference is to the object itself, and valid as
/// long as the object.
/// **Caller**: tasks and main functions. **Errors**: as GlobalMemory.
template <class T, CachePolicy Policy = KeepAll>
class ObjectCache {
 public:
  /// A cache for objects of this memory. Its name and `place` tell it from others that are made in
  /// another order on another rank.
  explicit ObjectCache(GlobalMemory& memory, Policy policy = Policy(), std::string name = "cache",
                       const std::source_location& place = std::source_location::current())
      : memory_(memory),
        compares_(kComparable && memory.checks()),
        core_(scheduler(), name, std::make_unique<memory::PolicyOf<Policy>>(std::move(policy)),
              [this](const CacheKey& key, const FetchRef& fetch) { request(key, fetch); }),
        ask_(
            core(), [this](std::uint64_t offset) -> const T& { return *object_at(offset); },
            team::model_options("cache '" + name + "': a request"), place),
        compare_(
            core(),
            [this](std::uint64_t offset, const std::vector<std::byte>& copy) {
              return Compared(is_same(*object_at(offset), copy),
                              memory_.core().last_writer(offset, sizeof(T)).value_or(-1));
            },
            team::model_options("cache '" + name + "': a copy to compare"), place) {}

  /// Returns the copy of an object, and fetches it first if there is none. Requests for one object
  /// at the same time share a fetch. **Blocks**: parks the task during a fetch.
  [[nodiscard]] CacheRef<T> get(GlobalPtr<T> object) {
    if (is_own(object)) return own(object);
    if (!compares_ && !sched::in_handler()) {
      if (Copy copy = core_.find(key_of(object))) return as_ref(std::move(copy));
    }
    return fetch_or_compare(object);
  }
  /// Fetches the object, replaces its copy and returns the new one. References to the old copy stay
  /// valid and unchanged. **Blocks**: parks the task.
  [[nodiscard]] CacheRef<T> rget(GlobalPtr<T> object) {
    if (is_own(object)) return own(object);
    memory_.core().check_may_wait("rget() of a cache");
    return as_ref(core_.fetch(key_of(object)));
  }
  /// Returns the copy of an object that the cache has; fetches nothing. **Blocks**: never, except
  /// to compare it, as get() does; in a handler a copy that is out of date fails the team instead.
  /// **Errors**: CacheMiss when there is none.
  [[nodiscard]] CacheRef<T> lget(GlobalPtr<T> object) {
    if (is_own(object)) return own(object);
    if (compares_) return find_and_compare(object);
    if (Copy copy = core_.find(key_of(object))) return as_ref(std::move(copy));
    refuse_miss(object);
  }
  /// Starts to fetch an object if there is no copy of it. **Blocks**: never. **Errors**: one that
  /// no other call takes fails the team.
  void prefetch(GlobalPtr<T> object) {
    if (!is_own(object)) core_.prefetch(key_of(object));
  }

  /// Drops the copy of one object. References to it stay valid.
  void invalidate(GlobalPtr<T> object) { core_.invalidate(key_of(object)); }
  /// Drops all copies of this rank, and begins the next phase. References to them stay valid.
  void invalidate() { core_.next_phase(); }
  /// Drops the copies of all members. Collective over `team`, that of the memory: when it returns,
  /// no member reads an old copy, and writes of the members before the call are visible.
  /// **Blocks**: parks the caller.
  void collective_invalidate(Team& team) {
    memory_.quiet();
    memory::barrier(team);
    invalidate();
  }

  /// Counters of this rank.
  [[nodiscard]] CacheStatistics statistics() const { return core_.statistics(); }

 private:
  using Copy = memory::Copy;
  using FetchRef = memory::CacheCore::FetchRef;
  /// Whether a copy is the same as its object, and the rank that wrote that last; -1: not known.
  using Compared = std::pair<bool, int>;
  static constexpr bool kRaw = std::is_trivially_copyable_v<T>;

  /// A fetch of bytes.
  class RawFetch final : public sched::CompletionOf<void>, public memory::Pending {
   public:
    RawFetch(ObjectCache& cache, FetchRef fetch)
        : CompletionOf<void>(cache.scheduler()),
          Pending(static_cast<sched::Completion&>(*this)),
          fetch_(std::move(fetch)),
          object(new Place) {}

    friend void add_reference(RawFetch* fetch) {
      add_reference(static_cast<sched::Completion*>(fetch));
    }
    friend void remove_reference(RawFetch* fetch) {
      remove_reference(static_cast<sched::Completion*>(fetch));
    }

   private:
    struct Place {
      T value;
    };
    void finish(std::exception_ptr error) override {
      if (error != nullptr) {
        memory::CacheCore::failed(fetch_, std::move(error));
      } else {
        memory::CacheCore::arrived(fetch_, std::shared_ptr<const T>(object, &object->value),
                                   sizeof(T));
      }
    }
    const FetchRef fetch_;

   public:
    const std::shared_ptr<Place> object;
  };

  [[nodiscard]] sched::Scheduler& scheduler() const { return memory_.core().team().scheduler(); }
  [[nodiscard]] TeamCore& core() const { return memory_.core().team(); }
  static CacheKey key_of(GlobalPtr<T> object) { return object.template cast<const std::byte>(); }
  static CacheRef<T> as_ref(Copy copy) {
    return std::static_pointer_cast<const T>(std::move(copy));
  }
  [[nodiscard]] bool is_own(GlobalPtr<T> object) const {
    memory_.core().check_pointer(object.memory(), memory::Access::cached);
    return object.rank() == memory_.rank();
  }
  [[nodiscard]] CacheRef<T> own(GlobalPtr<T> object) {
    return CacheRef<T>(CacheRef<T>(), object_at(object.offset()));
  }
  [[nodiscard]] const T* object_at(std::uint64_t offset) {
    const std::byte* const place = memory_.core().reach(
        {memory_.rank().value(), offset, sizeof(T), 0, 1}, memory::Access::cached);
    return reinterpret_cast<const T*>(place);
  }
  // Whether values of a type without serialize() can be compared.
  static constexpr bool kComparable = !kRaw || memory::comparable_v<T>;
  // Whether the program says when two values are equal.
  static constexpr bool kHasEquality = std::equality_comparable<T> && std::is_class_v<T> &&
                                       !naming::type_text<T>().starts_with("std::");
  // Compares values: two encodings of one may differ, as an unordered container of the copy may
  // have its elements in another order.
  static bool is_same(const T& object, const std::vector<std::byte>& copy) {
    if constexpr (kRaw) {
      return bytes_of(object) == copy;
    } else {
      const T decoded = std::get<0>(decode<T>(copy));
      if constexpr (kHasEquality) {
        if (object == decoded) return true;
      }
      return wire::canonical(object) == wire::canonical(decoded);
    }
  }
  static std::vector<std::byte> bytes_of(const T& object) {
    if constexpr (kRaw) {
      T copy = object;
      memory::clear_padding(copy);
      return encoded(copy);
    } else {
      return encoded(object);
    }
  }

  /// get() where there is no copy, with checks on, or perhaps in a handler.
  [[gnu::noinline]] CacheRef<T> fetch_or_compare(GlobalPtr<T> object) {
    memory_.core().check_may_wait("get() of a cache");
    memory::CacheCore::Found found = core_.get(key_of(object));
    if (compares_ && found.hit) refuse_stale(object, found, compare(object, found).get());
    return as_ref(std::move(found.copy));
  }
  /// lget() with checks on.
  [[gnu::noinline]] CacheRef<T> find_and_compare(GlobalPtr<T> object) {
    memory::CacheCore::Found found = core_.find_phased(key_of(object));
    if (!found.hit) refuse_miss(object);
    if (sched::in_handler()) {
      const auto untaken = compare(object, found).then([this, object, found](const Compared& seen) {
        refuse_stale(object, found, seen);
      });
    } else {
      refuse_stale(object, found, compare(object, found).get());
    }
    return as_ref(std::move(found.copy));
  }
  [[noreturn]] void refuse_miss(GlobalPtr<T> object) const {
    throw CacheMiss("cache '" + core_.name() + "': there is no copy of " +
                    to_string(key_of(object)) + ": lget() fetches nothing, get() does");
  }
  void request(const CacheKey& key, const FetchRef& into) {
    if constexpr (kRaw) {
      const sync::Ref<RawFetch> fetch(new RawFetch(*this, into));
      memory::Core& core = memory_.core();
      const memory::Range range{key.rank().value(), key.offset(), sizeof(T), 0, 1};
      auto* const to = reinterpret_cast<std::byte*>(&fetch->object->value);
      if (const std::byte* place = core.reach(range, memory::Access::cached)) {
        std::memcpy(to, place, sizeof(T));
      } else {
        core.get(range, to, *fetch);
      }
      fetch->end_one();
    } else {
      keep_later(ask_.call(key.rank(), key.offset()), into);
    }
  }
  /// Keeps the object when it comes.
  void keep_later(const Future<T>& object, const FetchRef& into) {
    const sched::ValueRef<T> state = object.shared_state();
    auto keep = [into, state] {
      if (const std::exception_ptr error = state->take_error(); error != nullptr) {
        return memory::CacheCore::failed(into, refusal(error));
      }
      const std::size_t size_bytes = encoded_size<T>(*state->value);
      memory::CacheCore::arrived(into, std::make_shared<const T>(std::move(*state->value)),
                                 size_bytes);
    };
    // In the team of the memory: tasks of others may wait for the copy, too.
    sched::submit_after(
        *state, sched::make_function_task(memory_.core().team(), core_.name(), std::move(keep)));
  }
  /// An error of the owner as the caller's own.
  static std::exception_ptr refusal(const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const RemoteError& remote) {
      return std::make_exception_ptr(CheckError(remote.text()));
    } catch (...) {
      return error;
    }
  }

  /// Compares a copy that was found with its object.
  [[nodiscard]] Future<Compared> compare(GlobalPtr<T> object,
                                         const memory::CacheCore::Found& found) {
    return compare_.call(object.rank(), object.offset(), bytes_of(*as_ref(found.copy)));
  }
  void refuse_stale(GlobalPtr<T> object, const memory::CacheCore::Found& found,
                    const Compared& seen) const {
    const auto [same, writer] = seen;
    if (same) return;
    throw StaleReadError(
        "cache '" + core_.name() + "': rank " + std::to_string(memory_.rank().value()) +
        " reads, in phase " + std::to_string(core_.phase()) + ", its copy of " +
        to_string(key_of(object)) + " from phase " + std::to_string(found.fetched_in) +
        ", and the object there is newer; " + writer_text(object.rank(), writer) +
        ": call invalidate() between the change and the read");
  }

  static std::string writer_text(Rank owner, int writer) {
    if (writer >= 0) {
      return "the last put or operation there was that of rank " + std::to_string(writer);
    }
    return "none of the last puts and operations was there, so rank " +
           std::to_string(owner.value()) + " has changed it by a pointer of its own";
  }

  GlobalMemory& memory_;
  const bool compares_;  // copies that are found with their objects
  memory::CacheCore core_;
  const RemoteFunction<T, std::uint64_t> ask_;
  const RemoteFunction<Compared, std::uint64_t, std::vector<std::byte>> compare_;
};

}  // namespace shoal
