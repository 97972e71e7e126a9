#pragma once
// Shared by the sequences of a flow on one rank.

#include "flow/comparison.hpp"
#include "flow/dispatcher.hpp"
#include "flow/handle.hpp"
#include "flow/transfers.hpp"

#include <shoal/flow/sequence.hpp>
#include <shoal/sync/mutex.hpp>
#include <shoal/term/scope.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace shoal::flow {

class Core final : private term::Unsatisfied {
 public:
  Core(term::Scope& scope, std::string name, const FlowOptions& options);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  [[nodiscard]] term::Scope& scope() const { return scope_; }
  [[nodiscard]] sched::Scheduler& scheduler() const { return scope_.scheduler(); }
  [[nodiscard]] int rank() const { return scope_.rank(); }
  [[nodiscard]] int size() const { return scope_.size(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Sequence& main() { return *sequences_.front(); }
  [[nodiscard]] Sequence& add_sequence(std::string name, const FlowOptions& options);
  /// Lets messages of this flow be handled.
  void open_handlers() {
    if (!scope_.channel().handlers().all_open()) scope_.channel().open_handlers();
  }

  // --- handles. The inserting threads.

  [[nodiscard]] Handle& add_handle(const DataType& type, const Shape& shape,
                                   const DataOptions& options, void* object, bool owns_object);
  /// Handle of a part of a partitioned datum; its object views the whole.
  [[nodiscard]] Handle& add_part(Handle& whole, const Shape& shape, std::size_t index,
                                 void* object);
  void remove_handle(Handle& handle);
  [[nodiscard]] Instance& add_instance(Handle& handle, void* object, bool owns_object);
  /// Any thread.
  void recycle(Instance& instance);
  void count_copy_bytes(const Handle& handle, int sign);
  [[nodiscard]] std::size_t copy_bytes() const {
    return static_cast<std::size_t>(copy_bytes_.load(std::memory_order_relaxed));
  }
  void keep(const std::shared_ptr<CodeletCore>& codelet);
  /// Compares the programs of the ranks, or nullptr: a single rank, or a pruned flow.
  [[nodiscard]] Comparison* comparison() const { return comparison_.get(); }
  /// Name of an inserted codelet or other operation, by the hash of its name. For reports.
  [[nodiscard]] std::string text_of_insertion(std::uint32_t hash) const;
  [[nodiscard]] std::string name_of_handle(std::uint64_t id) const;
  template <class F>
  void for_each_handle(F f) {
    const sync::Lock lock(handles_mutex_);
    for (Handle& handle : handles_) {
      if (handle.registered) f(handle);
    }
  }

  // --- tasks. Any thread.

  /// One more access is granted.
  void satisfy(FlowTask& task) {
    // acq_rel: the last one sees the writes of all
    if (task.missing.fetch_sub(1, std::memory_order_acq_rel) == 1) make_ready(task);
  }
  void make_ready(FlowTask& task);

  [[nodiscard]] Transfers& transfers() { return transfers_; }
  /// Counts reports on early values that others owe to this rank. Its count_created() is called
  /// with the lock of the transfers.
  [[nodiscard]] Sequence& reports() { return *reports_; }
  /// nullptr: the flow has no FlowScheduler.
  [[nodiscard]] Dispatcher* dispatcher() const { return dispatcher_.get(); }

 private:
  [[nodiscard]] std::uint64_t unsatisfied_count() const override;
  [[nodiscard]] std::vector<std::string> describe_unsatisfied() const override;
  void drop_waiting_tasks();

  term::Scope& scope_;
  const std::string name_;
  std::vector<std::unique_ptr<Sequence>> sequences_;
  std::unique_ptr<Sequence> reports_;

  mutable sync::Mutex handles_mutex_;
  std::deque<Handle> handles_;
  std::deque<Handle*> free_handles_ SHOAL_GUARDED_BY(handles_mutex_);  // perhaps with instances
  std::uint64_t next_id_ SHOAL_GUARDED_BY(handles_mutex_) = 0;
  struct Tag {
    std::uint64_t lives = 0;
    Handle* handle = nullptr;
  };
  std::unordered_map<std::uint64_t, Tag> tags_ SHOAL_GUARDED_BY(handles_mutex_);

  mutable sync::Mutex instances_mutex_;
  std::deque<Instance> instances_ SHOAL_GUARDED_BY(instances_mutex_);
  std::vector<Instance*> free_instances_ SHOAL_GUARDED_BY(instances_mutex_);
  std::atomic<std::int64_t> copy_bytes_{0};

  mutable sync::Mutex codelets_mutex_;
  std::map<const CodeletCore*, std::shared_ptr<CodeletCore>> codelets_
      SHOAL_GUARDED_BY(codelets_mutex_);

  std::unique_ptr<Dispatcher> dispatcher_;

  // The last members: their handlers use the others.
  Transfers transfers_;
  std::unique_ptr<Comparison> comparison_;
};

}  // namespace shoal::flow
