#pragma once
// Global memory: heaps that all ranks of a team can read and write, one-sidedly.

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/memory/core.hpp>
#include <shoal/detail/memory/word.hpp>
#include <shoal/global_ptr.hpp>
#include <shoal/large_message.hpp>
#include <shoal/memory_options.hpp>
#include <shoal/transfer.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

/// Global heaps of the ranks of a team, one on each, and one-sided access to all of them (ppl
/// paper, sections 2.2 and 2.3; docs/memory.md). All ranks make theirs in the same order, with the
/// same options. Each rank has a local heap, too, for memory that only its own tasks use.
///
/// **Access paths**: the caller accesses the heap of a rank in the same process, or in a process of
/// the same node that shares memory, by loads, stores and atomic instructions, and other heaps by
/// messages. Results are the same. Words of 1, 2, 4 or 8 bytes are read and written atomically.
/// **Ordering**: a put is visible to a get that follows its remote completion: wait() of its
/// Transfer, quiet(), or a message in the usual order from `signal` of put_signal(); other accesses
/// are not ordered. Operations on words (fetch_add() and so on) are sequentially consistent.
/// **Coherence**: accesses of several tasks to the same bytes, one of them a put, are a race unless
/// the program orders them; operations on words never race with each other. **Caller**, where
/// nothing else is said: tasks and the main function. **Blocks**: calls that wait for an answer
/// park the task; a put waits at most for room to send. **Errors**: CheckError for a null pointer,
/// one of another memory, a rank that does not exist, a range behind the heap's end; with checks
/// on, for each access that is not within one live allocation. **Completion**: requests count as
/// messages of the team: Team::wait() waits for them. **Lifetime**: until wait() has returned on
/// all ranks.
class GlobalMemory {
 public:
  /// Collective: all ranks of the team make theirs in the same order. The name and `place` tell it
  /// from others that are made in another order on another rank.
  explicit GlobalMemory(Team& team, const GlobalMemoryOptions& options = {},
                        const std::source_location& place = std::source_location::current())
      : core_(std::make_unique<memory::Core>(core_of(team), options, place)) {}

  /// Rank of the caller in the team.
  [[nodiscard]] Rank rank() const { return core_->rank(); }
  /// Number of ranks of the team.
  [[nodiscard]] int size() const { return core_->size(); }
  /// Name in reports.
  [[nodiscard]] const std::string& name() const { return core_->name(); }
  /// Counters of this rank.
  [[nodiscard]] GlobalMemoryStatistics statistics() const { return core_->statistics(); }
  /// Whether accesses are checked against allocations: see GlobalMemoryOptions.
  [[nodiscard]] bool checks() const { return core_->checks(); }

  // --- allocation. Memory is zeros when it is allocated.

  /// Allocates `count` elements in the heap of this rank. **Caller**: any thread. **Blocks**:
  /// never. **Errors**: Error with sizes when there is no room. **Cost**: constant.
  template <class T>
  [[nodiscard]] GlobalPtr<T> allocate(std::size_t count = 1) {
    return pointer<T>(rank(), core_->allocate(bytes_of<T>(count), alignof(T)));
  }
  /// Allocates `count` elements in the heap of `rank`. **Blocks**: parks the caller, unless `rank`
  /// is its own. **Errors**: Error with sizes when there is no room. **Cost**: one message and its
  /// answer.
  template <class T>
  [[nodiscard]] GlobalPtr<T> allocate_on(Rank rank, std::size_t count = 1) {
    if (rank == this->rank()) return allocate<T>(count);
    core_->check_may_wait("allocate_on()");
    return pointer<T>(rank, core_->allocate_on(rank, bytes_of<T>(count), alignof(T)).get());
  }
  /// Frees memory of any rank that allocate() or allocate_on() has returned. **Errors**: CheckError
  /// for memory that is not allocated (if it is another rank's, the error fails the team).
  template <class T>
  void free(GlobalPtr<T> pointer) {
    core_->check_pointer(pointer.memory(), "free");
    core_->free(pointer.rank(), pointer.offset());
  }
  /// Allocates `count` elements in the heap of each rank, at the same offset; returns the pointer p
  /// to those of the caller's rank: p.on(r) points to those of rank r. It does not wait for other
  /// ranks: a barrier is needed between the allocation and the first access to another rank's
  /// memory. **Caller**: all ranks, in the same order with the same arguments. **Errors**: as
  /// allocate(); ranks that allocate different sizes, or at different places of the program, fail
  /// the team with both sizes and places.
  template <class T>
  [[nodiscard]] GlobalPtr<T> collective_allocate(
      std::size_t count = 1, const std::source_location& place = std::source_location::current()) {
    return allocate_laid_out<T>(count, 0, place);
  }
  /// Frees memory that collective_allocate() has returned. **Caller**: all ranks, in the same
  /// order. **Precondition**: no rank accesses the memory any more.
  template <class T>
  void collective_free(GlobalPtr<T> pointer) {
    core_->check_pointer(pointer.memory(), "collective_free");
    core_->free_collectively(pointer.offset());
  }
  /// Constructs an object in the heap of this rank from the arguments, for ObjectCache. **Errors**:
  /// as allocate(), and exceptions of the constructor.
  template <class T, class... Args>
  [[nodiscard]] GlobalPtr<T> create(Args&&... args) {
    const GlobalPtr<T> pointer = allocate<T>();
    try {
      ::new (static_cast<void*>(core_->local(pointer.offset()))) T(std::forward<Args>(args)...);
    } catch (...) {
      free(pointer);
      throw;
    }
    return pointer;
  }
  /// Destroys and frees an object of this rank.
  template <class T>
  void destroy(GlobalPtr<T> pointer) {
    std::destroy_at(local(pointer));
    free(pointer);
  }

  // --- the local heap of this rank: memory for its own tasks. Zeros when it is allocated.

  /// Allocates `count` elements in the local heap of this rank. **Caller**: any thread. **Blocks**:
  /// never. **Errors**: Error with sizes when there is no room. **Cost**: constant.
  template <class T>
    requires std::is_trivially_default_constructible_v<T>
  [[nodiscard]] T* local_allocate(std::size_t count = 1) {
    return reinterpret_cast<T*>(core_->allocate_locally(bytes_of<T>(count), alignof(T)));
  }
  /// Frees memory that local_allocate() has returned; nullptr is ignored. **Errors**: CheckError
  /// for a pointer that was freed before, points into an allocation, or is not of this heap.
  template <class T>
  void local_free(T* place) {
    core_->free_locally(place);
  }

  /// Returns the address of the element in this process. **Errors**: CheckError for a pointer to
  /// another rank.
  template <class T>
  [[nodiscard]] T* local(GlobalPtr<T> pointer) const {
    core_->check_pointer(pointer.memory(), "local()");
    SHOAL_CHECK(pointer.rank() == rank(),
                "memory '{}': local() of a pointer to rank {}, on rank {}: use get()", name(),
                pointer.rank().value(), rank().value());
    return reinterpret_cast<T*>(core_->local(pointer.offset()));
  }

  // --- values

  /// Reads the value at the address. **Blocks**: parks the caller, unless the memory is in reach.
  template <memory::Copied T>
  [[nodiscard]] std::remove_cv_t<T> get(GlobalPtr<T> from) {
    core_->check_may_wait(from.rank().value(), "get()");
    core_->check_pointer(from.memory(), Access::get);
    if (const std::byte* place = direct(from, sizeof(T), Access::get)) {
      std::remove_cv_t<T> value;
      memory::load(value, place);
      return value;
    }
    return get_far(from);
  }
  /// Starts to read the value at the address; returns its future, and does not block. See get().
  template <memory::Copied T>
  [[nodiscard]] Future<std::remove_cv_t<T>> get_async(GlobalPtr<T> from) {
    using Value = std::remove_cv_t<T>;
    core_->check_pointer(from.memory(), Access::get);
    auto pending = make_pending<Value>();
    Future<Value> value = pending->future();
    if (const std::byte* place = at(from, sizeof(T), Access::get)) {
      memory::load(*pending->value, place);
    } else {
      core_->get({from.rank().value(), from.offset(), sizeof(T), 0, 1}, bytes(*pending->value),
                 *pending);
    }
    pending->end_one();
    return value;
  }
  /// Writes the value to the address. The Transfer tells when it is complete, and may be dropped:
  /// see Transfer.
  template <memory::Copied T>
  Transfer put(GlobalPtr<T> to, const std::type_identity_t<T>& value) {
    memory::check_written<T>();
    core_->check_pointer(to.memory(), Access::put);
    if (std::byte* place = direct(to, sizeof(T), Access::put)) {
      memory::store(place, value);
      return {};
    }
    return put_far<T>(to, value);
  }

  // --- ranges

  /// Reads to.size() elements, beginning at the address, into `to`. **Blocks**: parks the caller,
  /// unless the memory is in reach.
  template <memory::Copied T>
  void get(GlobalPtr<T> from, std::span<std::remove_cv_t<T>> to) {
    core_->check_may_wait(from.rank().value(), "get()");
    get_async(from, to).await();
  }
  /// Starts to read to.size() elements, beginning at the address, into `to`, and does not block for
  /// the answer. `to` must not be touched before the Transfer is complete.
  template <memory::Copied T>
  [[nodiscard]] Transfer get_async(GlobalPtr<T> from, std::span<std::remove_cv_t<T>> to) {
    return get_blocks(from, to, to.size(), 0);
  }
  /// Writes the elements to the address. `from` may be reused on return; the Transfer tells when
  /// the write is complete, and may be dropped.
  template <memory::Copied T>
  Transfer put(GlobalPtr<T> to, std::span<const std::type_identity_t<T>> from) {
    return put_blocks(to, from, from.size(), 0);
  }
  /// Reads blocks of `block` elements, which begin `stride` elements apart in global memory, into
  /// `to`, one after the other: a tile of a matrix, say. The size of `to` is a multiple of `block`.
  /// **Blocks**: parks the caller, unless the memory is in reach.
  template <memory::Copied T>
  void get_strided(GlobalPtr<T> from, std::span<std::remove_cv_t<T>> to, std::size_t block,
                   std::size_t stride) {
    core_->check_may_wait(from.rank().value(), "get_strided()");
    get_blocks(from, to, block, stride).await();
  }
  /// Starts to read blocks, and does not block for the answer: see get_strided(). `to` must not be
  /// touched before the Transfer is complete.
  template <memory::Copied T>
  [[nodiscard]] Transfer get_strided_async(GlobalPtr<T> from, std::span<std::remove_cv_t<T>> to,
                                           std::size_t block, std::size_t stride) {
    return get_blocks(from, to, block, stride);
  }
  /// Writes the elements of `from` in blocks of `block` elements, which begin `stride` elements
  /// apart in global memory. `from` may be reused on return. The size of `from` is a multiple of
  /// `block`.
  template <memory::Copied T>
  Transfer put_strided(GlobalPtr<T> to, std::span<const std::type_identity_t<T>> from,
                       std::size_t block, std::size_t stride) {
    return put_blocks(to, from, block, stride);
  }
  /// Reads the value at pointers[i] into to[i], for all i; `pointers` is a vector, an array or a
  /// span. Elements of one rank share messages, which are all in flight at once. **Blocks**: parks
  /// the caller, unless the memory is in reach.
  template <class Pointers, memory::Copied T = memory::Pointee<Pointers>>
  void gather(const Pointers& pointers, std::span<std::remove_cv_t<memory::Pointee<Pointers>>> to) {
    const std::span<const GlobalPtr<T>> from(pointers);
    if (sched::in_handler()) {
      for (const GlobalPtr<T> one : from) core_->check_may_wait(one.rank().value(), "gather()");
    }
    SHOAL_CHECK(from.size() == to.size(),
                "memory '{}': gather() of {} elements into room for {}: give room for all of them",
                name(), from.size(), to.size());
    std::vector<memory::Element> far;
    for (std::size_t i = 0; i < from.size(); ++i) {
      core_->check_pointer(from[i].memory(), Access::gather);
      if (const std::byte* place = at(from[i], sizeof(T), Access::gather)) {
        memory::load(to[i], place);
      } else {
        far.push_back({from[i].rank().value(), from[i].offset(), i});
      }
    }
    if (far.empty()) return;
    auto pending = make_pending<void>();
    Transfer transfer(pending, true);
    core_->batch(far, {.element_bytes = sizeof(T)}, reinterpret_cast<std::byte*>(to.data()),
                 *pending);
    pending->end_one();
    transfer.wait();
  }
  /// Writes from[i] to pointers[i], for all i. **Errors**: when a pointer is refused here, the
  /// elements before it are written; when the target refuses one, all others are.
  template <class Pointers, memory::Copied T = memory::Pointee<Pointers>>
  Transfer scatter(const Pointers& pointers, std::span<const memory::Pointee<Pointers>> from) {
    memory::check_written<T>();
    const std::span<const GlobalPtr<T>> to(pointers);
    SHOAL_CHECK(from.size() == to.size(),
                "memory '{}': scatter() of {} elements to {} pointers: give one for each", name(),
                from.size(), to.size());
    std::vector<memory::Element> far;
    const std::exception_ptr refused =
        for_places<1>(to, Access::scatter, far,
                      [&](std::byte* place, std::size_t i) { memory::store(place, from[i]); });
    return send_batch({.access = Access::scatter, .element_bytes = sizeof(T)}, far, from, refused);
  }

  /// Writes the elements, and calls signal() on this rank as soon as a message that it sends to the
  /// rank of `to` in the usual order is handled after the data is there: send() or call() there, an
  /// event fired to that rank, fulfill() or send() to one task of a graph there. For large data,
  /// and with checks on, that is after remote completion, which parks the caller. Urgent messages
  /// and multicasts (fire() to all, send_all()) overtake small data: send them after
  /// put(...).wait() instead. **Errors**: where the put is refused, signal() is not called.
  template <memory::Copied T, std::invocable<> Signal>
  void put_signal(GlobalPtr<T> to, std::span<const std::type_identity_t<T>> from, Signal signal) {
    core_->check_may_wait(to.rank().value(), "put_signal()");
    Transfer transfer = put(to, from);
    // Messages between two ranks are handled in order: a small put is one. With checks on, its
    // target may refuse it.
    if (from.size_bytes() >= kLargeMessageBytes || checks() || sync::watches_strands()) {
      transfer.await();
    }
    signal();
  }

  /// Returns when all puts that this rank has called before are complete, at all targets.
  /// **Blocks**: parks the task.
  void quiet() {
    core_->check_may_wait("quiet()");
    core_->quiet();
  }

  // --- atomic operations on words: arithmetic types, enums, pointers, and small structures, of 1,
  // 2, 4 or 8 bytes. Atomic with each other and with put() and get() of the word, whether they
  // reach it by instructions or by messages.

  /// Adds `value`, a number other than bool, to the word; returns the value before.
  template <memory::Atomic T>
  T fetch_add(GlobalPtr<T> at, std::type_identity_t<T> value) {
    memory::check_sum<T>();
    return apply(at, memory::WordOp::add, value, T());
  }
  /// Replaces the word by the minimum of it and `value`, a number or an enum; returns the value
  /// before.
  template <memory::Atomic T>
  T fetch_min(GlobalPtr<T> at, std::type_identity_t<T> value) {
    memory::check_order<T>();
    return apply(at, memory::WordOp::min, value, T());
  }
  /// Replaces the word by the maximum of it and `value`, a number or an enum; returns the value
  /// before.
  template <memory::Atomic T>
  T fetch_max(GlobalPtr<T> at, std::type_identity_t<T> value) {
    memory::check_order<T>();
    return apply(at, memory::WordOp::max, value, T());
  }
  /// Replaces the word by its bitwise and with `value`; returns the value before.
  template <std::integral T>
  T fetch_and(GlobalPtr<T> at, std::type_identity_t<T> value) {
    memory::check_written<T>();
    return apply(at, memory::WordOp::bit_and, value, T());
  }
  /// Replaces the word by its bitwise or with `value`; returns the value before.
  template <std::integral T>
  T fetch_or(GlobalPtr<T> at, std::type_identity_t<T> value) {
    memory::check_written<T>();
    return apply(at, memory::WordOp::bit_or, value, T());
  }
  /// Replaces the word by its bitwise exclusive or with `value`; returns the value before.
  template <std::integral T>
  T fetch_xor(GlobalPtr<T> at, std::type_identity_t<T> value) {
    memory::check_written<T>();
    return apply(at, memory::WordOp::bit_xor, value, T());
  }
  /// Replaces the word by `value`; returns the value before.
  template <memory::Atomic T>
  T swap(GlobalPtr<T> at, std::type_identity_t<T> value) {
    memory::check_written<T>();
    return apply(at, memory::WordOp::exchange, value, T());
  }
  /// Replaces the word by `desired` if it equals `expected`, bit by bit; returns the value before.
  /// T has no padding.
  template <memory::Atomic T>
  T compare_exchange(GlobalPtr<T> at, std::type_identity_t<T> expected,
                     std::type_identity_t<T> desired) {
    memory::check_compared<T>();
    return apply(at, memory::WordOp::compare, desired, expected);
  }
  /// Reads the word.
  template <memory::Atomic T>
  [[nodiscard]] std::remove_cv_t<T> load(GlobalPtr<T> at) {
    using Value = std::remove_cv_t<T>;
    return apply(at.template cast<Value>(), memory::WordOp::load, Value(), Value());
  }
  /// Writes the word.
  template <memory::Atomic T>
  void store(GlobalPtr<T> at, std::type_identity_t<T> value) {
    memory::check_written<T>();
    static_cast<void>(apply(at, memory::WordOp::store, value, T()));
  }
  /// Replaces the word by function(word), atomically, for reductions of the program's own; returns
  /// the value before. `function` may be called several times. **Cost**: two round trips, more
  /// under contention.
  template <memory::Atomic T, std::invocable<T> F>
  T fetch_update(GlobalPtr<T> at, F function) {
    memory::check_compared<T>();
    static_assert(!truncates_result_v<std::invoke_result_t<F&, T>, T>,
                  "shoal: the function of fetch_update() returns a larger type of number than the "
                  "word, which would be truncated: convert it");
    T old = load(at);
    while (true) {
      const T seen = compare_exchange(at, old, static_cast<T>(function(old)));
      if (memory::to_word(seen) == memory::to_word(old)) return old;
      old = seen;
    }
  }
  /// Adds `value` to the word atomically, without returning the value before. The Transfer tells
  /// when it is complete; quiet() waits for it, too.
  template <memory::Atomic T>
  Transfer add_async(GlobalPtr<T> at, std::type_identity_t<T> value) {
    memory::check_sum<T>();
    return update_async<memory::WordOp::add>(at, value);
  }
  /// Combines the word with `value` by exclusive or, atomically, without returning the value
  /// before. The Transfer tells when it is complete; quiet() waits for it, too.
  template <std::integral T>
  Transfer xor_async(GlobalPtr<T> at, std::type_identity_t<T> value) {
    memory::check_written<T>();
    return update_async<memory::WordOp::bit_xor>(at, value);
  }
  /// Adds values[i] to the word at pointers[i], atomically, for all i; a word may occur several
  /// times. Faster than single calls for random updates: words in reach are prefetched together.
  /// **Errors**: as scatter().
  template <class Pointers, memory::Atomic T = memory::Pointee<Pointers>>
  Transfer add_async(const Pointers& pointers, std::span<const memory::Pointee<Pointers>> values) {
    memory::check_sum<T>();
    return update_all_async<memory::WordOp::add, T>(pointers, values);
  }
  /// Combines the word at pointers[i] with values[i] by exclusive or, atomically, for all i; a word
  /// may occur several times. Faster than single calls for random updates. **Errors**: as
  /// scatter().
  template <class Pointers, std::integral T = memory::Pointee<Pointers>>
  Transfer xor_async(const Pointers& pointers, std::span<const memory::Pointee<Pointers>> values) {
    memory::check_written<T>();
    return update_all_async<memory::WordOp::bit_xor, T>(pointers, values);
  }
  /// Writes the word, and does not block: see store(). The Transfer tells when it is complete;
  /// quiet() waits for it, too.
  template <memory::Atomic T>
  Transfer store_async(GlobalPtr<T> at, std::type_identity_t<T> value) {
    memory::check_written<T>();
    return update_async<memory::WordOp::store>(at, value);
  }
  /// Adds `value` to the word atomically; returns the future of the value before, and does not
  /// block. See fetch_add().
  template <memory::Atomic T>
  [[nodiscard]] Future<T> fetch_add_async(GlobalPtr<T> at, std::type_identity_t<T> value) {
    memory::check_sum<T>();
    return apply_async(at, memory::WordOp::add, value, T());
  }
  /// Starts fetch_min(); returns the future of the value before, and does not block.
  template <memory::Atomic T>
  [[nodiscard]] Future<T> fetch_min_async(GlobalPtr<T> at, std::type_identity_t<T> value) {
    memory::check_order<T>();
    return apply_async(at, memory::WordOp::min, value, T());
  }
  /// Starts fetch_max(); returns the future of the value before, and does not block.
  template <memory::Atomic T>
  [[nodiscard]] Future<T> fetch_max_async(GlobalPtr<T> at, std::type_identity_t<T> value) {
    memory::check_order<T>();
    return apply_async(at, memory::WordOp::max, value, T());
  }
  /// Starts fetch_and(); returns the future of the value before, and does not block.
  template <std::integral T>
  [[nodiscard]] Future<T> fetch_and_async(GlobalPtr<T> at, std::type_identity_t<T> value) {
    memory::check_written<T>();
    return apply_async(at, memory::WordOp::bit_and, value, T());
  }
  /// Starts fetch_or(); returns the future of the value before, and does not block.
  template <std::integral T>
  [[nodiscard]] Future<T> fetch_or_async(GlobalPtr<T> at, std::type_identity_t<T> value) {
    memory::check_written<T>();
    return apply_async(at, memory::WordOp::bit_or, value, T());
  }
  /// Starts fetch_xor(); returns the future of the value before, and does not block.
  template <std::integral T>
  [[nodiscard]] Future<T> fetch_xor_async(GlobalPtr<T> at, std::type_identity_t<T> value) {
    memory::check_written<T>();
    return apply_async(at, memory::WordOp::bit_xor, value, T());
  }
  /// Starts swap(); returns the future of the value before, and does not block.
  template <memory::Atomic T>
  [[nodiscard]] Future<T> swap_async(GlobalPtr<T> at, std::type_identity_t<T> value) {
    memory::check_written<T>();
    return apply_async(at, memory::WordOp::exchange, value, T());
  }
  /// Starts compare_exchange(); returns the future of the value before, and does not block.
  template <memory::Atomic T>
  [[nodiscard]] Future<T> compare_exchange_async(GlobalPtr<T> at, std::type_identity_t<T> expected,
                                                 std::type_identity_t<T> desired) {
    memory::check_compared<T>();
    return apply_async(at, memory::WordOp::compare, desired, expected);
  }
  /// Starts to read the word; returns its future, and does not block. See load().
  template <memory::Atomic T>
  [[nodiscard]] Future<std::remove_cv_t<T>> load_async(GlobalPtr<T> at) {
    using Value = std::remove_cv_t<T>;
    return apply_async(at.template cast<Value>(), memory::WordOp::load, Value(), Value());
  }

  /// @cond internals
  /// Returns the core, for code that is built on the memory.
  [[nodiscard]] memory::Core& core() const { return *core_; }
  /// @endcond

 private:
  template <class>
  friend class GlobalVector;

  /// `layout`: what the program does with the elements, the same on all ranks.
  template <class T>
  [[nodiscard]] GlobalPtr<T> allocate_laid_out(std::size_t count, std::uint64_t layout,
                                               const std::source_location& place) {
    return pointer<T>(rank(),
                      core_->allocate_collectively(bytes_of<T>(count), alignof(T), layout, place));
  }
  using Access = memory::Access;

  template <class T>
  static std::byte* bytes(T& value) {
    return reinterpret_cast<std::byte*>(&value);
  }
  template <class T>
  [[nodiscard]] std::size_t bytes_of(std::size_t count) const {
    static_assert(
        !wire::holds_view_v<T>,
        "shoal: a view in global memory refers to memory of one rank, which may end before "
        "it: allocate its elements");
    SHOAL_CHECK(count <= SIZE_MAX / 2 / sizeof(T), "memory '{}': {} elements of {} bytes", name(),
                count, sizeof(T));
    return count * sizeof(T);
  }
  template <class T>
  [[nodiscard]] GlobalPtr<T> pointer(Rank rank, std::uint64_t offset) const {
    return {rank, core_->id(), offset};
  }
  template <class T>
  [[nodiscard]] sync::Ref<memory::PendingValue<T>> make_pending() const {
    return sync::Ref(new memory::PendingValue<T>(core_->team().scheduler()));
  }
  /// Returns the address of the memory in this process, if it is known to be in reach; else
  /// nullptr.
  template <class T>
  [[nodiscard]] std::byte* direct(GlobalPtr<T> pointer, std::size_t size_bytes, Access access) {
    return core_->direct(pointer.rank().value(), pointer.offset(), size_bytes, access);
  }
  /// Returns the address of the memory in this process, after connecting to the heap of its rank if
  /// necessary; nullptr: use messages. **Errors**: CheckError for a range outside the heap.
  template <class T>
  [[nodiscard]] std::byte* at(GlobalPtr<T> pointer, std::size_t size_bytes, Access access) {
    std::byte* const place = direct(pointer, size_bytes, access);
    if (place != nullptr) [[likely]]
      return place;
    return core_->reach({pointer.rank().value(), pointer.offset(), size_bytes, 0, 1}, access);
  }
  // A function of its own, so that get() and put() of near memory save no registers.
  template <class T>
  [[nodiscard]] [[gnu::noinline]] std::remove_cv_t<T> get_far(GlobalPtr<T> from) {
    std::remove_cv_t<T> value;
    if (const std::byte* place = at(from, sizeof(T), Access::get)) {
      memory::load(value, place);
      return value;
    }
    get_remote({from.rank().value(), from.offset(), sizeof(T), 0, 1}, bytes(value)).wait();
    return value;
  }
  template <class T>
  [[gnu::noinline]] Transfer put_far(GlobalPtr<T> to, const T& value) {
    if (std::byte* place = at(to, sizeof(T), Access::put)) {
      memory::store(place, value);
      return {};
    }
    return put_remote({to.rank().value(), to.offset(), sizeof(T), 0, 1},
                      reinterpret_cast<const std::byte*>(&value));
  }
  template <class T>
  [[nodiscard]] memory::Range range_of(GlobalPtr<T> at, std::size_t count, std::size_t block,
                                       std::size_t stride) const {
    SHOAL_CHECK(count == 0 || (block > 0 && count % block == 0),
                "memory '{}': {} elements are no whole number of blocks of {}", name(), count,
                block);
    SHOAL_CHECK(count == block || count == 0 || stride >= block,
                "memory '{}': blocks of {} elements overlap with a stride of {}", name(), block,
                stride);
    return {at.rank().value(), at.offset(), block * sizeof(T), stride * sizeof(T),
            count == 0 ? 0 : count / block};
  }
  template <class T>
  Transfer get_blocks(GlobalPtr<T> from, std::span<std::remove_cv_t<T>> to, std::size_t block,
                      std::size_t stride) {
    core_->check_pointer(from.memory(), Access::get);
    const memory::Range range = range_of(from, to.size(), block, stride);
    auto* const target = reinterpret_cast<std::byte*>(to.data());
    if (const std::byte* place = at(from, range.extent_bytes(), Access::get_range)) {
      for (std::uint64_t i = 0; i < range.count; ++i) {
        std::memcpy(target + i * range.block_bytes, place + i * range.stride_bytes,
                    range.block_bytes);
      }
      return {};
    }
    return get_remote(range, target);
  }
  template <class T>
  Transfer put_blocks(GlobalPtr<T> to, std::span<const std::type_identity_t<T>> from,
                      std::size_t block, std::size_t stride) {
    memory::check_written<T>();
    core_->check_pointer(to.memory(), Access::put);
    const memory::Range range = range_of(to, from.size(), block, stride);
    const auto* const source = reinterpret_cast<const std::byte*>(from.data());
    if (std::byte* place = at(to, range.extent_bytes(), Access::put)) {
      for (std::uint64_t i = 0; i < range.count; ++i) {
        std::memcpy(place + i * range.stride_bytes, source + i * range.block_bytes,
                    range.block_bytes);
      }
      return {};
    }
    return put_remote(range, source);
  }
  Transfer get_remote(const memory::Range& from, std::byte* to) {
    auto pending = make_pending<void>();
    Transfer transfer(pending, true);
    core_->get(from, to, *pending);
    pending->end_one();
    return transfer;
  }
  Transfer put_remote(const memory::Range& to, const std::byte* from) {
    auto pending = make_pending<void>();
    core_->follow(*pending);
    Transfer transfer(pending, false);
    const memory::Sending sending(*pending);
    core_->put(to, from, *pending);
    return transfer;
  }

  template <class T>
  void check_aligned(GlobalPtr<T> at) const {
    SHOAL_CHECK(at.offset() % sizeof(T) == 0, "memory '{}': {:#x} is not aligned to {} bytes",
                name(), at.offset(), sizeof(T));
  }
  template <class T>
  static memory::Word word_for(memory::WordOp op, const T& value, const T& expected) {
    return {op, memory::word_type<T>(), memory::to_word(value), memory::to_word(expected)};
  }
  static constexpr Access access_of(memory::WordOp op) {
    return op == memory::WordOp::load ? Access::load : Access::word;
  }
  template <class T>
  Future<T> apply_async(GlobalPtr<T> at, memory::WordOp op, const std::type_identity_t<T>& value,
                        const std::type_identity_t<T>& expected) {
    core_->check_pointer(at.memory(), Access::word);
    check_aligned(at);
    const sync::Ref pending(new memory::PendingWord<T>(core_->team().scheduler()));
    Future<T> before = pending->future();
    const memory::Word word = word_for<T>(op, value, expected);
    if (std::byte* place = this->at(at, sizeof(T), access_of(op))) {
      pending->word = memory::apply_word(place, word);
    } else {
      core_->word(at.rank().value(), at.offset(), word, &pending->word, *pending);
    }
    pending->end_one();
    return before;
  }
  template <class T>
  T apply(GlobalPtr<T> at, memory::WordOp op, const std::type_identity_t<T>& value,
          const std::type_identity_t<T>& expected) {
    core_->check_may_wait(at.rank().value(), "an operation on a word");
    core_->check_pointer(at.memory(), Access::word);
    check_aligned(at);
    const memory::Word word = word_for<T>(op, value, expected);
    const Access access = access_of(op);
    if (std::byte* place = direct(at, sizeof(T), access)) {
      return memory::from_word<T>(memory::apply_word(place, word));
    }
    return apply_far(at, word, access);
  }
  template <class T>
  [[gnu::noinline]] T apply_far(GlobalPtr<T> at, const memory::Word& word, Access access) {
    if (std::byte* place = this->at(at, sizeof(T), access)) {
      return memory::from_word<T>(memory::apply_word(place, word));
    }
    auto pending = make_pending<void>();
    Future<void> done = pending->future();
    core_->word(at.rank().value(), at.offset(), word, &pending->word, *pending);
    pending->end_one();
    done.get();
    return memory::from_word<T>(pending->word);
  }
  template <memory::WordOp op, class T>
  Transfer update_async(GlobalPtr<T> at, const std::type_identity_t<T>& value) {
    core_->check_pointer(at.memory(), Access::word_async);
    check_aligned(at);
    if (std::byte* place = this->at(at, sizeof(T), Access::word_async)) {
      memory::update<op>(place, value);
      return {};
    }
    auto pending = make_pending<void>();
    core_->follow(*pending);
    Transfer transfer(pending, false);
    const memory::Sending sending(*pending);
    core_->word(at.rank().value(), at.offset(), word_for<T>(op, value, T()), nullptr, *pending);
    return transfer;
  }
  template <memory::WordOp op, class T>
  Transfer update_all_async(std::span<const GlobalPtr<T>> at,
                            std::span<const std::type_identity_t<T>> values) {
    SHOAL_CHECK(at.size() == values.size(),
                "memory '{}': {} values for {} words: give one for each", name(), values.size(),
                at.size());
    std::vector<memory::Element> far;
    const std::exception_ptr refused = for_places<32>(
        at, Access::word_async, far,
        [&](std::byte* place, std::size_t i) { memory::update<op>(place, values[i]); });
    return send_batch({Access::word_async, op, memory::word_type<T>(), sizeof(T)}, far, values,
                      refused);
  }
  /// Calls f(place, i) for the elements that are in reach, after kTogether of their cache lines
  /// were prefetched; the others are added to `far`. If a pointer is refused, returns the error,
  /// and leaves out this element and those after it.
  template <std::size_t kTogether, class T, class F>
  std::exception_ptr for_places(std::span<const GlobalPtr<T>> elements, Access access,
                                std::vector<memory::Element>& far, F f) {
    std::exception_ptr refused;
    for (std::size_t first = 0; first < elements.size() && !refused; first += kTogether) {
      std::array<std::byte*, kTogether> places;
      const std::size_t count = std::min(kTogether, elements.size() - first);
      std::size_t known = 0;
      try {
        for (; known < count; ++known) {
          const GlobalPtr<T> to = elements[first + known];
          core_->check_pointer(to.memory(), access);
          if (access == Access::word_async) check_aligned(to);
          places[known] = at(to, sizeof(T), access);
          if (places[known] == nullptr) {
            far.push_back({to.rank().value(), to.offset(), first + known});
          } else if (kTogether > 1) {
            __builtin_prefetch(places[known], 1);
          }
        }
      } catch (...) {
        refused = std::current_exception();
      }
      for (std::size_t i = 0; i < known; ++i) {
        if (places[i] != nullptr) f(places[i], first + i);
      }
    }
    return refused;
  }
  template <class T>
  Transfer send_batch(const memory::BatchOp& op, std::span<memory::Element> far,
                      std::span<const T> from, const std::exception_ptr& refused) {
    Transfer transfer;
    if (!far.empty()) {
      auto pending = make_pending<void>();
      core_->follow(*pending);
      transfer = Transfer(pending, false);
      const memory::Sending sending(*pending);
      // only read
      auto* const data = reinterpret_cast<std::byte*>(const_cast<T*>(from.data()));
      core_->batch(far, op, data, *pending);
    }
    if (refused) std::rethrow_exception(refused);
    return transfer;
  }

  const std::unique_ptr<memory::Core> core_;
};

}  // namespace shoal
