#pragma once
// Collective operations of a team.

#include <shoal/detail/coll/typed.hpp>
#include <shoal/future.hpp>

#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

/// Collective operations of a Team. All members call the same ones in the same order: from their
/// main functions, or for a team also from a task of each. Each is there twice: one parks the
/// caller, the other returns a future at once, and the operation goes on in handlers; any number
/// may be under way. Values are combined in the order of ranks, in the same way in every run with
/// as many ranks; `operation` must not wait.
///
/// **Errors**: as Team::wait(); TaskError, which names both, when members call different
/// operations, or with different types, sizes of spans, or roots. **Cost**: about log2(size)
/// messages in depth. Values of 16 KiB and more travel without copies in between. Spans are not
/// encoded; large ones are on their way in several parts at once.
class TeamCollectives {
 public:
  /// Returns when all members have called it. Not a wait(): tasks and messages may still be under
  /// way.
  void barrier() { coll::barrier(collectives()).wait(); }
  /// The same with a future.
  [[nodiscard]] Future<void> barrier_async() { return later(coll::barrier(collectives())); }

  /// The value of `root`, on every member. An Immutable is handed over without a copy where no
  /// member is in another process.
  template <class T>
  [[nodiscard]] T broadcast(const T& value, Rank root) {
    return coll::broadcast(collectives(), value, root).wait();
  }
  /// The same with a future.
  template <class T>
  [[nodiscard]] Future<T> broadcast_async(const T& value, Rank root) {
    return later(coll::broadcast(collectives(), value, root));
  }
  /// The same in place: the elements of `root` are copied to those of all members, as many on each.
  /// Large ones travel in segments along a tree.
  template <class T>
  void broadcast(std::span<T> values, Rank root) {
    coll::broadcast(collectives(), values, root).wait();
  }
  /// `values` must not be touched before the future is fulfilled.
  template <class T>
  [[nodiscard]] Future<void> broadcast_async(std::span<T> values, Rank root) {
    return later(coll::broadcast(collectives(), values, root));
  }

  /// operation(a, b) over the values of all members, on `root`; nothing elsewhere.
  template <class T, class Operation>
  [[nodiscard]] std::optional<T> reduce(const T& value, Operation operation, Rank root) {
    return coll::reduce(collectives(), value, std::move(operation), root).wait();
  }
  /// The same with a future.
  template <class T, class Operation>
  [[nodiscard]] Future<std::optional<T>> reduce_async(const T& value, Operation operation,
                                                      Rank root) {
    return later(coll::reduce(collectives(), value, std::move(operation), root));
  }
  /// The same in place, element by element: the elements of `root` become the results, those of
  /// other members do not change. Large arrays go along a chain, with several parts under way.
  template <class T, class Operation>
  void reduce(std::span<T> values, Operation operation, Rank root) {
    coll::reduce(collectives(), values, std::move(operation), root).wait();
  }
  /// `values` must not be touched before the future is fulfilled.
  template <class T, class Operation>
  [[nodiscard]] Future<void> reduce_async(std::span<T> values, Operation operation, Rank root) {
    return later(coll::reduce(collectives(), values, std::move(operation), root));
  }

  /// operation(a, b) over the values of all members, on every member.
  template <class T, class Operation>
  [[nodiscard]] T allreduce(const T& value, Operation operation) {
    return coll::allreduce(collectives(), value, std::move(operation)).wait();
  }
  /// The same with a future.
  template <class T, class Operation>
  [[nodiscard]] Future<T> allreduce_async(const T& value, Operation operation) {
    return later(coll::allreduce(collectives(), value, std::move(operation)));
  }
  /// The same in place, element by element. From 64 KiB on, parts of them go round a ring: then
  /// `operation` must be commutative.
  template <class T, class Operation>
  void allreduce(std::span<T> values, Operation operation) {
    coll::allreduce(collectives(), values, std::move(operation)).wait();
  }
  /// `values` must not be touched before the future is fulfilled.
  template <class T, class Operation>
  [[nodiscard]] Future<void> allreduce_async(std::span<T> values, Operation operation) {
    return later(coll::allreduce(collectives(), values, std::move(operation)));
  }

  /// The values of all members in the order of ranks, on `root`; empty elsewhere.
  template <class T>
  [[nodiscard]] std::vector<T> gather(const T& value, Rank root) {
    return coll::gather(collectives(), value, root).wait();
  }
  /// The same with a future.
  template <class T>
  [[nodiscard]] Future<std::vector<T>> gather_async(const T& value, Rank root) {
    return later(coll::gather(collectives(), value, root));
  }
  /// The same with as many elements of each member: `all` has room for all of them on `root`, in
  /// the order of ranks, and may be empty elsewhere. From 16 KiB on they go straight into place.
  template <class T>
  void gather(std::span<const std::type_identity_t<T>> mine, std::span<T> all, Rank root) {
    coll::gather<T>(collectives(), mine, all, root).wait();
  }
  /// Neither may be touched before the future is fulfilled.
  template <class T>
  [[nodiscard]] Future<void> gather_async(std::span<const std::type_identity_t<T>> mine,
                                          std::span<T> all, Rank root) {
    return later(coll::gather<T>(collectives(), mine, all, root));
  }
  /// The values of all members in the order of ranks, on every member.
  template <class T>
  [[nodiscard]] std::vector<T> allgather(const T& value) {
    return coll::allgather(collectives(), value).wait();
  }
  /// The same with a future.
  template <class T>
  [[nodiscard]] Future<std::vector<T>> allgather_async(const T& value) {
    return later(coll::allgather(collectives(), value));
  }
  /// The same with as many elements of each member: `all` has room for all of them, in the order of
  /// ranks. From 16 KiB on they go round a ring, straight into place.
  template <class T>
  void allgather(std::span<const std::type_identity_t<T>> mine, std::span<T> all) {
    coll::allgather<T>(collectives(), mine, all).wait();
  }
  /// Neither may be touched before the future is fulfilled.
  template <class T>
  [[nodiscard]] Future<void> allgather_async(std::span<const std::type_identity_t<T>> mine,
                                             std::span<T> all) {
    return later(coll::allgather<T>(collectives(), mine, all));
  }

  /// operation(a, b) over the values of ranks 0 to this one.
  template <class T, class Operation>
  [[nodiscard]] T scan(const T& value, Operation operation) {
    return coll::scan(collectives(), value, std::move(operation)).wait();
  }
  /// The same with a future.
  template <class T, class Operation>
  [[nodiscard]] Future<T> scan_async(const T& value, Operation operation) {
    return later(coll::scan(collectives(), value, std::move(operation)));
  }
  /// The same in place, element by element. Large arrays go along the chain of ranks, with several
  /// parts under way.
  template <class T, class Operation>
  void scan(std::span<T> values, Operation operation) {
    coll::scan(collectives(), values, std::move(operation)).wait();
  }
  /// `values` must not be touched before the future is fulfilled.
  template <class T, class Operation>
  [[nodiscard]] Future<void> scan_async(std::span<T> values, Operation operation) {
    return later(coll::scan(collectives(), values, std::move(operation)));
  }
  /// The same over `initial` and the values of the ranks before this one.
  template <class T, class Operation>
  [[nodiscard]] T exclusive_scan(const T& value, Operation operation, T initial) {
    return coll::exclusive_scan(collectives(), value, std::move(operation), std::move(initial))
        .wait();
  }
  /// The same with a future.
  template <class T, class Operation>
  [[nodiscard]] Future<T> exclusive_scan_async(const T& value, Operation operation, T initial) {
    return later(
        coll::exclusive_scan(collectives(), value, std::move(operation), std::move(initial)));
  }

  /// values[i] is for rank i; returns what each rank had for this one. **Cost**: size - 1 messages
  /// from each member.
  template <class T>
  [[nodiscard]] std::vector<T> alltoall(const std::vector<T>& values) {
    return coll::alltoall(collectives(), values).wait();
  }
  /// The same with a future.
  template <class T>
  [[nodiscard]] Future<std::vector<T>> alltoall_async(const std::vector<T>& values) {
    return later(coll::alltoall(collectives(), values));
  }
  /// The same with parts of arrays: part i of `mine`, one of size() equal ones, is for rank i, and
  /// part i of `theirs` comes from it. Parts of 16 KiB and more go straight into place.
  template <class T>
  void alltoall(std::span<const std::type_identity_t<T>> mine, std::span<T> theirs) {
    coll::alltoall<T>(collectives(), mine, theirs).wait();
  }
  /// Neither may be touched before the future is fulfilled.
  template <class T>
  [[nodiscard]] Future<void> alltoall_async(std::span<const std::type_identity_t<T>> mine,
                                            std::span<T> theirs) {
    return later(coll::alltoall<T>(collectives(), mine, theirs));
  }
  /// operation(a, b) over what each rank had for this one. **Cost**: as alltoall().
  template <class T, class Operation>
  [[nodiscard]] T reduce_scatter(const std::vector<T>& values, Operation operation) {
    return coll::reduce_scatter(collectives(), values, std::move(operation)).wait();
  }
  /// The same with a future.
  template <class T, class Operation>
  [[nodiscard]] Future<T> reduce_scatter_async(const std::vector<T>& values, Operation operation) {
    return later(coll::reduce_scatter(collectives(), values, std::move(operation)));
  }
  /// The same with parts of arrays, element by element: the results of part i of `values`, one of
  /// size() equal ones, go into `mine` on rank i. Parts of 16 KiB and more go round a ring: then
  /// `operation` must be commutative.
  template <class T, class Operation>
  void reduce_scatter(std::span<const std::type_identity_t<T>> values, std::span<T> mine,
                      Operation operation) {
    coll::reduce_scatter<T>(collectives(), values, mine, std::move(operation)).wait();
  }
  /// Neither may be touched before the future is fulfilled.
  template <class T, class Operation>
  [[nodiscard]] Future<void> reduce_scatter_async(std::span<const std::type_identity_t<T>> values,
                                                  std::span<T> mine, Operation operation) {
    return later(coll::reduce_scatter<T>(collectives(), values, mine, std::move(operation)));
  }

 protected:
  TeamCollectives() = default;
  ~TeamCollectives() = default;
  TeamCollectives(const TeamCollectives&) = delete;
  TeamCollectives& operator=(const TeamCollectives&) = delete;

  /// Sets the object that operates. Not for programs.
  void set_collectives(coll::Collectives* collectives) { collectives_ = collectives; }

 private:
  [[nodiscard]] coll::Collectives& collectives() const {
    if (collectives_ == nullptr) [[unlikely]]
      refuse_collective();
    return *collectives_;
  }
  [[noreturn]] void refuse_collective() const;
  template <class Started>
  Future<typename Started::Result> later(Started started) {
    return started.future("a collective operation");
  }

  coll::Collectives* collectives_ = nullptr;  // nullptr: the rank is no member
};

}  // namespace shoal
