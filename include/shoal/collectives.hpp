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
/// main functions, or for a team also from a task of each. Each operation exists in two forms:
/// `x()` parks the caller until it has its result; `x_async()` returns a future at once, and the
/// operation goes on in handlers; any number may be in progress. Values are combined in the order
/// of ranks, in the same way in every run with as many ranks; `operation` must not wait.
///
/// **Errors**: as Team::wait(); TaskError, which names both, when members call different
/// operations, or with different types, sizes of spans, or roots. **Cost**: about log2(size)
/// messages in depth. Values of 16 KiB and more travel without copies in between. Spans are not
/// encoded; large ones travel in several segments at once.
class TeamCollectives {
 public:
  /// Returns when all members have called it. It does not replace wait(): tasks and messages may
  /// still be in flight. **Blocks**: parks the caller.
  void barrier() { coll::barrier(collectives()).wait(); }
  /// Enters a barrier; returns a future that is ready when all members have entered it, and does
  /// not block. See barrier().
  [[nodiscard]] Future<void> barrier_async() { return later(coll::barrier(collectives())); }

  /// Returns the value of `root` on every member. An Immutable is handed over without a copy if all
  /// members are in one process. **Blocks**: parks the caller.
  template <class T>
  [[nodiscard]] T broadcast(const T& value, Rank root) {
    return coll::broadcast(collectives(), value, root).wait();
  }
  /// Starts a broadcast of the value of `root`; returns the future of that value on every member,
  /// and does not block. See broadcast().
  template <class T>
  [[nodiscard]] Future<T> broadcast_async(const T& value, Rank root) {
    return later(coll::broadcast(collectives(), value, root));
  }
  /// Copies the elements of `root` into `values` of every other member, which have the same number
  /// of elements. Large arrays travel in segments along a tree. **Blocks**: parks the caller.
  template <class T>
  void broadcast(std::span<T> values, Rank root) {
    coll::broadcast(collectives(), values, root).wait();
  }
  /// Starts a broadcast from `values` of `root` into `values` of every other member; returns a
  /// future, and does not block. `values` must not be touched before the future is ready. See
  /// broadcast().
  template <class T>
  [[nodiscard]] Future<void> broadcast_async(std::span<T> values, Rank root) {
    return later(coll::broadcast(collectives(), values, root));
  }

  /// Combines the values of all members with operation(a, b); returns the result on `root`, and
  /// nothing elsewhere. **Blocks**: parks the caller.
  template <class T, class Operation>
  [[nodiscard]] std::optional<T> reduce(const T& value, Operation operation, Rank root) {
    return coll::reduce(collectives(), value, std::move(operation), root).wait();
  }
  /// Starts a reduction of the values of all members to `root`; returns the future of the result
  /// there and of nothing elsewhere, and does not block. See reduce().
  template <class T, class Operation>
  [[nodiscard]] Future<std::optional<T>> reduce_async(const T& value, Operation operation,
                                                      Rank root) {
    return later(coll::reduce(collectives(), value, std::move(operation), root));
  }
  /// Combines the arrays of all members element by element: `values` of `root` receives the
  /// results, those of other members do not change. Large arrays travel along a chain of ranks,
  /// several segments at once. **Blocks**: parks the caller.
  template <class T, class Operation>
  void reduce(std::span<T> values, Operation operation, Rank root) {
    coll::reduce(collectives(), values, std::move(operation), root).wait();
  }
  /// Starts a reduction of the arrays of all members into `values` of `root`; returns a future, and
  /// does not block. `values` must not be touched before the future is ready. See reduce().
  template <class T, class Operation>
  [[nodiscard]] Future<void> reduce_async(std::span<T> values, Operation operation, Rank root) {
    return later(coll::reduce(collectives(), values, std::move(operation), root));
  }

  /// Combines the values of all members with operation(a, b); returns the result on every member.
  /// **Blocks**: parks the caller.
  template <class T, class Operation>
  [[nodiscard]] T allreduce(const T& value, Operation operation) {
    return coll::allreduce(collectives(), value, std::move(operation)).wait();
  }
  /// Starts a reduction of the values of all members; returns the future of the result on every
  /// member, and does not block. See allreduce().
  template <class T, class Operation>
  [[nodiscard]] Future<T> allreduce_async(const T& value, Operation operation) {
    return later(coll::allreduce(collectives(), value, std::move(operation)));
  }
  /// Combines the arrays of all members element by element, into `values` of every member. Arrays
  /// of 64 KiB and more travel in parts around a ring of ranks: then `operation` must be
  /// commutative. **Blocks**: parks the caller.
  template <class T, class Operation>
  void allreduce(std::span<T> values, Operation operation) {
    coll::allreduce(collectives(), values, std::move(operation)).wait();
  }
  /// Starts a reduction of the arrays of all members into `values` of every member; returns a
  /// future, and does not block. `values` must not be touched before the future is ready. See
  /// allreduce().
  template <class T, class Operation>
  [[nodiscard]] Future<void> allreduce_async(std::span<T> values, Operation operation) {
    return later(coll::allreduce(collectives(), values, std::move(operation)));
  }

  /// Gathers the values of all members; returns them in the order of ranks on `root`, and an empty
  /// vector elsewhere. **Blocks**: parks the caller.
  template <class T>
  [[nodiscard]] std::vector<T> gather(const T& value, Rank root) {
    return coll::gather(collectives(), value, root).wait();
  }
  /// Starts to gather the values of all members; returns the future of the vector on `root` and of
  /// an empty one elsewhere, and does not block. See gather().
  template <class T>
  [[nodiscard]] Future<std::vector<T>> gather_async(const T& value, Rank root) {
    return later(coll::gather(collectives(), value, root));
  }
  /// Gathers the elements of `mine`, the same number from each member, into `all` of `root`, in the
  /// order of ranks. `all` has room for the elements of all members on `root`, and may be empty
  /// elsewhere. Arrays of 16 KiB and more are received directly in `all`. **Blocks**: parks the
  /// caller.
  template <class T>
  void gather(std::span<const std::type_identity_t<T>> mine, std::span<T> all, Rank root) {
    coll::gather<T>(collectives(), mine, all, root).wait();
  }
  /// Starts to gather the elements of all members into `all` of `root`; returns a future, and does
  /// not block. `mine` and `all` must not be touched before the future is ready. See gather().
  template <class T>
  [[nodiscard]] Future<void> gather_async(std::span<const std::type_identity_t<T>> mine,
                                          std::span<T> all, Rank root) {
    return later(coll::gather<T>(collectives(), mine, all, root));
  }
  /// Gathers the values of all members; returns them in the order of ranks on every member.
  /// **Blocks**: parks the caller.
  template <class T>
  [[nodiscard]] std::vector<T> allgather(const T& value) {
    return coll::allgather(collectives(), value).wait();
  }
  /// Starts to gather the values of all members; returns the future of the vector on every member,
  /// and does not block. See allgather().
  template <class T>
  [[nodiscard]] Future<std::vector<T>> allgather_async(const T& value) {
    return later(coll::allgather(collectives(), value));
  }
  /// Gathers the elements of `mine`, the same number from each member, into `all` of every member,
  /// in the order of ranks. Arrays of 16 KiB and more travel around a ring of ranks, and are
  /// received directly in `all`. **Blocks**: parks the caller.
  template <class T>
  void allgather(std::span<const std::type_identity_t<T>> mine, std::span<T> all) {
    coll::allgather<T>(collectives(), mine, all).wait();
  }
  /// Starts to gather the elements of all members into `all` of every member; returns a future, and
  /// does not block. `mine` and `all` must not be touched before the future is ready. See
  /// allgather().
  template <class T>
  [[nodiscard]] Future<void> allgather_async(std::span<const std::type_identity_t<T>> mine,
                                             std::span<T> all) {
    return later(coll::allgather<T>(collectives(), mine, all));
  }

  /// Combines the values of ranks 0 to the caller's, inclusive, with operation(a, b); returns the
  /// result. **Blocks**: parks the caller.
  template <class T, class Operation>
  [[nodiscard]] T scan(const T& value, Operation operation) {
    return coll::scan(collectives(), value, std::move(operation)).wait();
  }
  /// Starts an inclusive scan; returns the future of the combined values of ranks 0 to the
  /// caller's, and does not block. See scan().
  template <class T, class Operation>
  [[nodiscard]] Future<T> scan_async(const T& value, Operation operation) {
    return later(coll::scan(collectives(), value, std::move(operation)));
  }
  /// Combines the arrays of ranks 0 to the caller's, inclusive, element by element, into `values`.
  /// Large arrays travel along the chain of ranks, several segments at once. **Blocks**: parks the
  /// caller.
  template <class T, class Operation>
  void scan(std::span<T> values, Operation operation) {
    coll::scan(collectives(), values, std::move(operation)).wait();
  }
  /// Starts an inclusive scan of arrays into `values`; returns a future, and does not block.
  /// `values` must not be touched before the future is ready. See scan().
  template <class T, class Operation>
  [[nodiscard]] Future<void> scan_async(std::span<T> values, Operation operation) {
    return later(coll::scan(collectives(), values, std::move(operation)));
  }
  /// Combines `initial` and the values of the ranks below the caller's with operation(a, b);
  /// returns the result, which is `initial` on rank 0. **Blocks**: parks the caller.
  template <class T, class Operation>
  [[nodiscard]] T exclusive_scan(const T& value, Operation operation, T initial) {
    return coll::exclusive_scan(collectives(), value, std::move(operation), std::move(initial))
        .wait();
  }
  /// Starts an exclusive scan; returns the future of the combined `initial` and values of the ranks
  /// below the caller's, and does not block. See exclusive_scan().
  template <class T, class Operation>
  [[nodiscard]] Future<T> exclusive_scan_async(const T& value, Operation operation, T initial) {
    return later(
        coll::exclusive_scan(collectives(), value, std::move(operation), std::move(initial)));
  }

  /// Sends values[i] to rank i; returns the values that all ranks sent to the caller's, in the
  /// order of ranks. **Blocks**: parks the caller. **Cost**: size - 1 messages from each member.
  template <class T>
  [[nodiscard]] std::vector<T> alltoall(const std::vector<T>& values) {
    return coll::alltoall(collectives(), values).wait();
  }
  /// Starts an exchange of one value between each two ranks; returns the future of the values sent
  /// to the caller's rank, and does not block. See alltoall().
  template <class T>
  [[nodiscard]] Future<std::vector<T>> alltoall_async(const std::vector<T>& values) {
    return later(coll::alltoall(collectives(), values));
  }
  /// Exchanges parts of arrays: `mine` and `theirs` consist of size() equal parts; part i of `mine`
  /// is sent to rank i, and part i of `theirs` is received from it. Parts of 16 KiB and more are
  /// received directly in `theirs`. **Blocks**: parks the caller.
  template <class T>
  void alltoall(std::span<const std::type_identity_t<T>> mine, std::span<T> theirs) {
    coll::alltoall<T>(collectives(), mine, theirs).wait();
  }
  /// Starts an exchange of parts of arrays between all ranks; returns a future, and does not block.
  /// `mine` and `theirs` must not be touched before the future is ready. See alltoall().
  template <class T>
  [[nodiscard]] Future<void> alltoall_async(std::span<const std::type_identity_t<T>> mine,
                                            std::span<T> theirs) {
    return later(coll::alltoall<T>(collectives(), mine, theirs));
  }
  /// Sends values[i] to rank i, and combines the values that all ranks sent to the caller's with
  /// operation(a, b); returns the result. **Blocks**: parks the caller. **Cost**: as alltoall().
  template <class T, class Operation>
  [[nodiscard]] T reduce_scatter(const std::vector<T>& values, Operation operation) {
    return coll::reduce_scatter(collectives(), values, std::move(operation)).wait();
  }
  /// Starts an exchange of values that are combined on the rank they are sent to; returns the
  /// future of the result for the caller's rank, and does not block. See reduce_scatter().
  template <class T, class Operation>
  [[nodiscard]] Future<T> reduce_scatter_async(const std::vector<T>& values, Operation operation) {
    return later(coll::reduce_scatter(collectives(), values, std::move(operation)));
  }
  /// Combines arrays of all members element by element, and scatters the results: `values` consists
  /// of size() equal parts, and the result of part i goes into `mine` of rank i. Parts of 16 KiB
  /// and more travel around a ring of ranks: then `operation` must be commutative. **Blocks**:
  /// parks the caller.
  template <class T, class Operation>
  void reduce_scatter(std::span<const std::type_identity_t<T>> values, std::span<T> mine,
                      Operation operation) {
    coll::reduce_scatter<T>(collectives(), values, mine, std::move(operation)).wait();
  }
  /// Starts to combine arrays of all members and to scatter the results; returns a future, and does
  /// not block. `values` and `mine` must not be touched before the future is ready. See
  /// reduce_scatter().
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

  /// Sets the object that runs the operations. Not for programs.
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
