#pragma once
// Collective operations of a team.

#include <shoal/detail/team/coll/typed.hpp>
#include <shoal/future.hpp>

#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

/// Collective operations of a Team. All members call the same ones in the same order: from their
/// main functions, or for a team also from a task of each. `x_async(args...)` starts an operation
/// and returns its future at once; the operation goes on in handlers, and any number may be in
/// progress. `x(args...)` is `x_async(args...).get()`: it parks the caller until it has the result.
/// Values are combined in the order of ranks, in the same way in every run with as many ranks;
/// `operation` must not wait.
///
/// **Errors**: as Team::wait(); TaskError, which names both, when members call different
/// operations, or with different types, sizes of spans, or roots, or combine by types of different
/// names, such as std::plus (lambdas, functions and objects with state are taken to be equal to
/// any). **Cost**: about log2(size) messages in depth. Values of 16 KiB and more travel without
/// copies in between. Spans are not encoded; large ones travel in several segments at once.
class TeamCollectives {
 public:
  /// Enters a barrier; returns a future that is ready when all members have entered it, and does
  /// not block. It does not replace wait(): tasks and messages may still be in flight.
  [[nodiscard]] Future<void> barrier_async() { return team::barrier(collectives()).future(); }

  /// Starts a broadcast of the value of `root`; returns the future of that value on every member,
  /// and does not block. An Immutable is handed over without a copy if all members are in one
  /// process.
  template <class T>
  [[nodiscard]] Future<T> broadcast_async(const T& value, Rank root) {
    return team::broadcast(collectives(), value, root).future();
  }
  /// Starts a broadcast from `values` of `root` into `values` of every other member, which have as
  /// many elements; returns a future, and does not block. `values` must not be touched before the
  /// future is ready. Large arrays travel in segments along a tree.
  template <class T>
  [[nodiscard]] Future<void> broadcast_async(std::span<T> values, Rank root) {
    return team::broadcast(collectives(), values, root).future();
  }

  /// Starts a reduction of the values of all members to `root` with operation(a, b); returns the
  /// future of the result there and of nothing elsewhere, and does not block.
  template <class T, class Operation>
  [[nodiscard]] Future<std::optional<T>> reduce_async(const T& value, Operation operation,
                                                      Rank root) {
    return team::reduce(collectives(), value, std::move(operation), root).future();
  }
  /// Starts a reduction of the arrays of all members, element by element, into `values` of `root`;
  /// those of other members do not change. Returns a future, and does not block. `values` must not
  /// be touched before the future is ready. Large arrays travel along a chain of ranks, several
  /// segments at once.
  template <class T, class Operation>
  [[nodiscard]] Future<void> reduce_async(std::span<T> values, Operation operation, Rank root) {
    return team::reduce(collectives(), values, std::move(operation), root).future();
  }

  /// Starts a reduction of the values of all members with operation(a, b); returns the future of
  /// the result on every member, and does not block.
  template <class T, class Operation>
  [[nodiscard]] Future<T> allreduce_async(const T& value, Operation operation) {
    return team::allreduce(collectives(), value, std::move(operation)).future();
  }
  /// Starts a reduction of the arrays of all members, element by element, into `values` of every
  /// member; returns a future, and does not block. `values` must not be touched before the future
  /// is ready. Arrays of 64 KiB and more travel in parts around a ring of ranks: then `operation`
  /// must be commutative.
  template <class T, class Operation>
  [[nodiscard]] Future<void> allreduce_async(std::span<T> values, Operation operation) {
    return team::allreduce(collectives(), values, std::move(operation)).future();
  }

  /// Starts to gather the values of all members; returns the future of the vector in the order of
  /// ranks on `root` and of an empty one elsewhere, and does not block.
  template <class T>
  [[nodiscard]] Future<std::vector<T>> gather_async(const T& value, Rank root) {
    return team::gather(collectives(), value, root).future();
  }
  /// Starts to gather the elements of `mine`, the same number from each member, into `all` of
  /// `root`, in the order of ranks; returns a future, and does not block. `all` has room for the
  /// elements of all members on `root`, and may be empty elsewhere. Neither must be touched before
  /// the future is ready. Arrays of 16 KiB and more are received directly in `all`.
  template <class T>
  [[nodiscard]] Future<void> gather_async(std::span<const std::type_identity_t<T>> mine,
                                          std::span<T> all, Rank root) {
    return team::gather(collectives(), mine, all, root).future();
  }
  /// Starts to gather the values of all members; returns the future of the vector in the order of
  /// ranks on every member, and does not block.
  template <class T>
  [[nodiscard]] Future<std::vector<T>> allgather_async(const T& value) {
    return team::allgather(collectives(), value).future();
  }
  /// Starts to gather the elements of `mine`, the same number from each member, into `all` of every
  /// member, in the order of ranks; returns a future, and does not block. Neither must be touched
  /// before the future is ready. Arrays of 16 KiB and more travel around a ring of ranks, and are
  /// received directly in `all`.
  template <class T>
  [[nodiscard]] Future<void> allgather_async(std::span<const std::type_identity_t<T>> mine,
                                             std::span<T> all) {
    return team::allgather(collectives(), mine, all).future();
  }

  /// Starts an inclusive scan: returns the future of the values of ranks 0 to the caller's,
  /// combined with operation(a, b), and does not block.
  template <class T, class Operation>
  [[nodiscard]] Future<T> scan_async(const T& value, Operation operation) {
    return team::scan(collectives(), value, std::move(operation)).future();
  }
  /// Starts an inclusive scan of arrays, element by element, into `values`; returns a future, and
  /// does not block. `values` must not be touched before the future is ready. Large arrays travel
  /// along the chain of ranks, several segments at once.
  template <class T, class Operation>
  [[nodiscard]] Future<void> scan_async(std::span<T> values, Operation operation) {
    return team::scan(collectives(), values, std::move(operation)).future();
  }
  /// Starts an exclusive scan: returns the future of `initial` and the values of the ranks below
  /// the caller's, combined with operation(a, b), which is `initial` on rank 0; does not block.
  template <class T, class Operation>
  [[nodiscard]] Future<T> exclusive_scan_async(const T& value, Operation operation, T initial) {
    return team::exclusive_scan(collectives(), value, std::move(operation), std::move(initial))
        .future();
  }

  /// Starts to send values[i] to rank i, for all i; returns the future of the values that all ranks
  /// have sent to the caller's, in the order of ranks, and does not block. **Cost**: size - 1
  /// messages from each member.
  template <class T>
  [[nodiscard]] Future<std::vector<T>> alltoall_async(const std::vector<T>& values) {
    return team::alltoall(collectives(), values).future();
  }
  /// Starts to exchange parts of arrays: `mine` and `theirs` consist of size() equal parts; part i
  /// of `mine` is sent to rank i, and part i of `theirs` is received from it. Returns a future, and
  /// does not block. Neither must be touched before the future is ready. Parts of 16 KiB and more
  /// are received directly in `theirs`.
  template <class T>
  [[nodiscard]] Future<void> alltoall_async(std::span<const std::type_identity_t<T>> mine,
                                            std::span<T> theirs) {
    return team::alltoall(collectives(), mine, theirs).future();
  }
  /// Starts to send values[i] to rank i, for all i; returns the future of the values that all ranks
  /// have sent to the caller's, combined with operation(a, b), and does not block. **Cost**: as
  /// alltoall_async().
  template <class T, class Operation>
  [[nodiscard]] Future<T> reduce_scatter_async(const std::vector<T>& values, Operation operation) {
    return team::reduce_scatter(collectives(), values, std::move(operation)).future();
  }
  /// Starts to combine arrays of all members element by element, and to scatter the results:
  /// `values` consists of size() equal parts, and the result of part i goes into `mine` of rank i.
  /// Returns a future, and does not block. Neither must be touched before the future is ready.
  /// Parts of 16 KiB and more travel around a ring of ranks: then `operation` must be commutative.
  template <class T, class Operation>
  [[nodiscard]] Future<void> reduce_scatter_async(std::span<const std::type_identity_t<T>> values,
                                                  std::span<T> mine, Operation operation) {
    return team::reduce_scatter(collectives(), values, mine, std::move(operation)).future();
  }

  /// @cond internals
  /// Returns the object that runs the operations: not for programs. **Errors**: CheckError for a
  /// rank that is no member.
  [[nodiscard]] team::Collectives& collectives() const {
    if (collectives_ == nullptr) [[unlikely]]
      refuse_collective();
    return *collectives_;
  }
  /// @endcond

  // --- the calls that wait. **Blocks**: parks the caller.

  /// Enters a barrier, and returns when all members have entered it: barrier_async().get().
  void barrier() { team::barrier(collectives()).wait(); }
  /// Calls broadcast_async() with these arguments, waits, and returns the result.
  template <class... Args>
  auto broadcast(Args&&... args) {
    return team::broadcast(collectives(), std::forward<Args>(args)...).wait();
  }
  /// Calls reduce_async() with these arguments, waits, and returns the result.
  template <class... Args>
  auto reduce(Args&&... args) {
    return team::reduce(collectives(), std::forward<Args>(args)...).wait();
  }
  /// Calls allreduce_async() with these arguments, waits, and returns the result.
  template <class... Args>
  auto allreduce(Args&&... args) {
    return team::allreduce(collectives(), std::forward<Args>(args)...).wait();
  }
  /// Calls gather_async() with these arguments, waits, and returns the result.
  template <class... Args>
  auto gather(Args&&... args) {
    return team::gather(collectives(), std::forward<Args>(args)...).wait();
  }
  /// Calls allgather_async() with these arguments, waits, and returns the result.
  template <class... Args>
  auto allgather(Args&&... args) {
    return team::allgather(collectives(), std::forward<Args>(args)...).wait();
  }
  /// Calls scan_async() with these arguments, waits, and returns the result.
  template <class... Args>
  auto scan(Args&&... args) {
    return team::scan(collectives(), std::forward<Args>(args)...).wait();
  }
  /// Calls exclusive_scan_async() with these arguments, waits, and returns the result.
  template <class... Args>
  auto exclusive_scan(Args&&... args) {
    return team::exclusive_scan(collectives(), std::forward<Args>(args)...).wait();
  }
  /// Calls alltoall_async() with these arguments, waits, and returns the result.
  template <class... Args>
  auto alltoall(Args&&... args) {
    return team::alltoall(collectives(), std::forward<Args>(args)...).wait();
  }
  /// Calls reduce_scatter_async() with these arguments, waits, and returns the result.
  template <class... Args>
  auto reduce_scatter(Args&&... args) {
    return team::reduce_scatter(collectives(), std::forward<Args>(args)...).wait();
  }

 protected:
  TeamCollectives() = default;
  ~TeamCollectives() = default;
  TeamCollectives(const TeamCollectives&) = delete;
  TeamCollectives& operator=(const TeamCollectives&) = delete;

  /// Sets the object that runs the operations. Not for programs.
  void set_collectives(team::Collectives* collectives) { collectives_ = collectives; }

 private:
  [[noreturn]] void refuse_collective() const;

  team::Collectives* collectives_ = nullptr;  // nullptr: the rank is no member
};

}  // namespace shoal
