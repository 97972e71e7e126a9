#pragma once
// Sequential task flow: tasks in program order, dependencies and transfers inferred.

#include <shoal/acquired.hpp>
#include <shoal/codelet.hpp>
#include <shoal/detail/flow/insert.hpp>
#include <shoal/detail/flow/sequence.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/flow_data.hpp>
#include <shoal/flow_options.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

/// Tasks that are inserted in program order, with the data that they read and write; the result is
/// that of running them one after the other (runtime-communication-interactions thesis, chapters
/// 1.3 and 4; docs/design/flow.md).
///
/// All ranks make their flows in the same order, register the same data, and insert the same tasks:
/// the program is the same on all ranks. A task runs on the rank that owns the datum that it
/// writes, or where the insertion says. Values travel by themselves: once to each rank that reads
/// them, until they are rewritten.
///
/// **Caller**: main functions and tasks; one at a time, see sub_flow(). **Errors**: CheckError for
/// wrong calls. **Lifetime**: until wait(), or wait() of the team, has returned; the flow ends
/// before the team does. Data end with the flow.
class Flow {
 public:
  /// `name` is used in reports; with `place` it tells the flow from others that are made in another
  /// order on another rank.
  explicit Flow(Team& team, std::string name = "flow", const FlowOptions& options = {},
                const std::source_location& place = std::source_location::current());
  /// Collective, unless an exception passes: waits until nothing of the flow is under way on this
  /// rank, and until all ranks have ended it. **Errors**: as wait(), unless an exception passes.
  ~Flow() noexcept(false);
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  // --- data. Called on all ranks in the same order, except for data with tags.

  /// Registers a value of any type that messages can carry, in memory of the flow. Its first value
  /// is `initial` on the owner. **Caller**: all ranks in the same order, except for data with tags.
  template <class T>
  [[nodiscard]] Data<T> data(T initial, const DataOptions& options = {}) {
    return add<T>({}, options, new T(std::move(initial)), true);
  }
  /// Registers a value in memory of the program. `place` is used on the owner only, and must last
  /// until unregister() or the end of the flow. **Caller**: all ranks in the same order, except for
  /// data with tags.
  template <class T>
  [[nodiscard]] Data<T> variable(T* place, const DataOptions& options = {}) {
    return add<T>({}, options, is_owner(options) ? place : nullptr, false);
  }
  /// Registers a vector of `size` elements at `place`, in memory of the program as for variable(),
  /// or in memory of the flow if `place` is nullptr.
  template <class U>
  [[nodiscard]] Data<std::span<U>> vector(U* place, std::size_t size,
                                          const DataOptions& options = {}) {
    return add<std::span<U>>({size, 1}, options,
                             view_at(options, place, std::span<U>(place, place ? size : 0)), true);
  }
  /// Registers a matrix or tile at `place`, column-major with `stride` >= rows elements from one
  /// column to the next, in memory of the program or of the flow as for vector(). **Errors**:
  /// CheckError for a smaller stride.
  template <class U>
  [[nodiscard]] Data<MatrixView<U>> matrix(U* place, std::size_t rows, std::size_t columns,
                                           std::size_t stride, const DataOptions& options = {}) {
    SHOAL_CHECK(stride >= rows, "a matrix of {} rows cannot have a leading dimension of {}", rows,
                stride);
    return add<MatrixView<U>>({rows, columns}, options,
                              view_at(options, place, MatrixView<U>(place, rows, columns, stride)),
                              true);
  }

  /// Sets the functions of accesses by reduction(data): `init(T&)` sets a neutral value, and
  /// `combine(T& into, const T& from)` adds one value to another, in any order. For vectors and
  /// matrices both take views.
  template <class T, class Init, class Combine>
  void set_reduction(Data<T> data, Init init, Combine combine) {
    using Traits = flow::DataTraits<T>;
    set_reduction_functions(
        flow::to_request(read(data)),
        [init = std::move(init)](void* object) mutable { init(Traits::write(object)); },
        [combine = std::move(combine)](void* into, const void* from) mutable {
          combine(Traits::write(into), Traits::read(const_cast<void*>(from)));
        });
  }

  // --- tasks. Called on all ranks in the same order; see FlowOptions::pruned.

  /// Inserts a task that runs `what`, a codelet or a function, with these arguments, in the order
  /// of its parameters: accesses to data (read(a), write(b), ...) and values, which are copied.
  /// Options may be anywhere among them: on_rank(), on_cheapest(), with_priority(). Reports call a
  /// function "task". Traces have the place of the call in the source.
  ///
  /// **Blocks**: suspends the caller while the limits of FlowOptions are exceeded. **Errors**:
  /// CheckError for a datum that is not registered, partitioned, or given twice unless only read.
  /// **Cost**: two short locks for each access; one allocation from the pool of tasks, on the rank
  /// that runs it.
  template <class... Args>
  void insert(flow::Inserted<std::type_identity_t<Args>...> what, Args&&... args) {
    what.insert(*sequence_, std::forward<Args>(args)...);
  }

  // --- waiting

  /// Returns when all tasks of this rank inserted so far have ended, and the transfers that they
  /// need. **Blocks**: parks the caller. **Errors**: as Future::get().
  void wait();
  /// Returns when those tasks of this rank inserted so far that use the datum have ended.
  /// **Blocks**: parks the caller. **Errors**: as Future::get().
  template <class T>
  void wait(Data<T> data) {
    wait_for(flow::to_request(read(data)));
  }

  /// Acquires the datum on its owner, or on_rank(r): waits until the tasks inserted before it that
  /// conflict with the access have ended; other ranks return at once with nothing. Tasks inserted
  /// later that conflict with it wait until the datum is released. **Caller**: all ranks, as
  /// insert().
  /// **Blocks**: parks the caller on that rank. **Errors**: StuckError when it can never be
  /// granted, because the caller holds data that the tasks before it need.
  template <class T, flow::Mode M>
  [[nodiscard]] Acquired<T, M> acquire(flow::TypedRequest<T, M> what, flow::OnRank where = {}) {
    return Acquired<T, M>(acquire_request(flow::to_request(what), where.rank));
  }
  /// Acquires the datum on its owner, or on_rank(r), without waiting: returns the future of the
  /// acquired datum there, of nothing on other ranks, and does not block. Several may be waited for
  /// in any order. If the team of the flow fails, the future ends with its error. **Caller**: all
  /// ranks, as insert(). See acquire().
  template <class T, flow::Mode M>
  [[nodiscard]] Future<Acquired<T, M>> acquire_async(flow::TypedRequest<T, M> what,
                                                     flow::OnRank where = {}) {
    flow::AcquiredTask task = begin_acquire(flow::to_request(what), where.rank);
    Promise<Acquired<T, M>> promise(
        scheduler(), task != nullptr ? "acquire_async()" : "a datum of another rank");
    Future<Acquired<T, M>> future = promise.future();
    if (task == nullptr) {
      promise.set_value();
      return future;
    }
    flow::AcquiredLater::submit(
        std::make_unique<flow::AcquirePromise<T, M>>(std::move(task), std::move(promise)));
    return future;
  }
  /// Returns a copy of the value on every rank: a T, or a std::vector<U> of the elements of a
  /// vector or, column by column, of a matrix. **Caller**: all ranks, as insert(). **Blocks**:
  /// parks the caller.
  template <class T>
  [[nodiscard]] auto get(Data<T> data) {
    const flow::AcquiredTask task = acquire_everywhere(flow::to_request(read(data)));
    return flow::DataTraits<T>::copy(task->object());
  }

  // --- where data are. All ranks.

  /// Makes `rank` the owner of the datum for the tasks inserted after this call.
  template <class T>
  void migrate(Data<T> data, Rank rank) {
    migrate_to(flow::to_request(read(data)), rank);
  }
  /// Drops the cached copies of the datum.
  template <class T>
  void flush(Data<T> data) {
    flush_one(flow::to_request(read(data)));
  }
  /// Drops the cached copies of all data of the flow.
  void flush();

  /// Unregisters the datum: its value returns to the rank and the memory that it was registered
  /// with, and the handle is not valid any more. **Blocks**: on that rank, parks the caller until
  /// the datum's tasks have ended.
  template <class T>
  void unregister(Data<T> data) {
    unregister_request(flow::to_request(read(data)));
  }

  // --- parts. All ranks.

  /// Splits a vector into `count` parts of nearly the same size, which are data of their own, at
  /// first on the same rank; returns them in order. The whole must not be used until unpartition().
  template <class U>
  [[nodiscard]] std::vector<Data<std::span<U>>> partition(Data<std::span<U>> data,
                                                          std::size_t count) {
    return to_data<std::span<U>>(
        split<std::span<U>>(flow::to_request(read(data)), count, 1,
                            [](const std::span<U>& whole, const flow::Block& block) {
                              return whole.empty() ? whole : whole.subspan(block.row, block.rows);
                            }));
  }
  /// Splits a matrix into a grid of `row_parts` by `column_parts` parts; returns them column by
  /// column. Each part is a datum of its own, on the rank of the whole until it moves. The whole
  /// must not be used until unpartition().
  template <class U>
  [[nodiscard]] std::vector<Data<MatrixView<U>>> partition(Data<MatrixView<U>> data,
                                                           std::size_t row_parts,
                                                           std::size_t column_parts) {
    return to_data<MatrixView<U>>(split<MatrixView<U>>(
        flow::to_request(read(data)), row_parts, column_parts,
        [](const MatrixView<U>& whole, const flow::Block& block) {
          return whole.block(block.row, block.column, block.rows, block.columns);
        }));
  }
  /// Joins the parts of `data` again: their values return to the rank of the whole, and their
  /// handles are not valid any more.
  template <class T>
  void unpartition(Data<T> data) {
    unpartition_request(flow::to_request(read(data)));
  }

  /// Returns the transfers of this rank, with those of its sub-flows. **Caller**: any thread.
  [[nodiscard]] FlowStatistics statistics() const;
  /// @cond deprecated
  using TransferCounts [[deprecated("its name is shoal::FlowStatistics")]] = FlowStatistics;
  [[deprecated("its name is statistics()")]] [[nodiscard]] FlowStatistics transfer_counts() const {
    return statistics();
  }
  /// @endcond

  /// Makes another inserter of the same flow, for a task or thread of its own: its tasks have an
  /// order of their own. Made on all ranks in the same order. A datum is used by one inserter at a
  /// time.
  [[nodiscard]] Flow sub_flow(std::string name);

  /// Name in reports.
  [[nodiscard]] const std::string& name() const { return sequence_->name(); }
  /// @cond internals
  /// Returns the inserter's tasks and data: not for programs.
  [[nodiscard]] flow::Sequence& sequence() const { return *sequence_; }
  /// @endcond

 private:
  using Parts = std::vector<flow::Handle*>;

  Flow(std::shared_ptr<flow::Core> core, flow::Sequence& sequence);

  [[nodiscard]] bool is_owner(const DataOptions& options) const;
  template <class U, class View>
  void* view_at(const DataOptions& options, U* place, View view) {
    if (!is_owner(options) || place == nullptr) return nullptr;
    auto* const object = new typename flow::DataTraits<View>::Object();
    object->view = view;
    return object;
  }
  template <class T>
  Data<T> add(const flow::Shape& shape, const DataOptions& options, void* object, bool owned) {
    flow::Handle& handle = add_handle(flow::data_type<T>(), shape, options, object, owned);
    return {&handle, generation_of(handle)};
  }
  template <class T>
  static std::vector<Data<T>> to_data(const Parts& parts) {
    std::vector<Data<T>> data;
    for (flow::Handle* const part : parts) data.emplace_back(part, generation_of(*part));
    return data;
  }
  template <class View, class Cut>
  Parts split(const flow::Request& whole, std::size_t rows, std::size_t columns, Cut cut) {
    using Object = typename flow::DataTraits<View>::Object;
    return partition_request(whole, rows, columns,
                             [&cut](void* object, const flow::Block& block) -> void* {
                               auto* const part = new Object();
                               part->view = cut(static_cast<Object*>(object)->view, block);
                               return part;
                             });
  }

  [[nodiscard]] sched::Scheduler& scheduler() const;
  [[nodiscard]] flow::Handle& add_handle(const flow::DataType& type, const flow::Shape& shape,
                                         const DataOptions& options, void* object, bool owned);
  [[nodiscard]] static std::uint32_t generation_of(const flow::Handle& handle);
  void check(const flow::Request& request, const char* what) const;
  void check_whole(const flow::Handle& handle, const char* call) const;
  void check_may_wait(const char* call) const;
  void set_reduction_functions(const flow::Request& request, Function<void(void*)> init,
                               Function<void(void*, const void*)> combine);
  void enter_and_wait(flow::AcquireTask& task);
  void wait_for(const flow::Request& request);
  [[nodiscard]] flow::AcquiredTask begin_acquire(flow::Request request, int rank);
  [[nodiscard]] flow::AcquiredTask acquire_request(const flow::Request& request, int rank);
  [[nodiscard]] flow::AcquiredTask acquire_everywhere(const flow::Request& request);
  void migrate_to(const flow::Request& request, Rank rank);
  void flush_one(const flow::Request& request);
  void unregister_request(const flow::Request& request);
  [[nodiscard]] Parts partition_request(
      const flow::Request& whole, std::size_t rows, std::size_t columns,
      FunctionRef<void*(void* object, const flow::Block& block)> cut);
  void unpartition_request(const flow::Request& whole);

  std::shared_ptr<flow::Core> core_;
  flow::Sequence* sequence_;
  int exceptions_ = 0;  // under way when it was made
};

}  // namespace shoal
