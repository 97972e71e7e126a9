#pragma once
// Parts of a flow on one rank, shared by its sequences.

#include "flow/comparison.hpp"
#include "flow/dag.hpp"
#include "flow/dispatcher.hpp"
#include "flow/instance.hpp"
#include "flow/transfers.hpp"

#include <shoal/codelet.hpp>
#include <shoal/detail/flow/sequence.hpp>
#include <shoal/detail/flow/types.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/flow_data.hpp>
#include <shoal/future.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <source_location>
#include <string>
#include <unordered_map>
#include <vector>

namespace shoal::flow {

/// Codelets of a flow, which it keeps until the flow ends. **Caller**: any thread.
class Codelets {
 public:
  Codelets() = default;
  ~Codelets();
  Codelets(const Codelets&) = delete;
  Codelets& operator=(const Codelets&) = delete;

  /// Returns whether this was the last flow to keep the codelet. A hint.
  [[nodiscard]] bool keeps(const CodeletCore& codelet) const {
    return codelet.keeper.load(std::memory_order_relaxed) == this;
  }
  void keep(const std::shared_ptr<CodeletCore>& codelet);
  /// Returns the name of an inserted codelet or other operation, by the hash of its name, for
  /// reports.
  [[nodiscard]] std::string text_of(std::uint32_t hash) const;

 private:
  mutable sync::Mutex mutex_;
  std::map<const CodeletCore*, std::shared_ptr<CodeletCore>> codelets_ SHOAL_GUARDED_BY(mutex_);
};

/// Table of the handles of a flow, which are reused. **Caller**: the inserting threads.
class Handles {
 public:
  /// `pruned`: ids of data have a signature, since no comparison of the programs finds that ranks
  /// register them in another order.
  Handles(std::string flow, const TeamCore& team, Instances& instances, bool pruned)
      : flow_(std::move(flow)),
        team_(team),
        rank_(team.rank()),
        pruned_(pruned),
        instances_(instances) {}

  [[nodiscard]] Handle& add(const DataType& type, const Shape& shape, const DataOptions& options,
                            void* object, bool owns_object);
  /// Handle of a part of a partitioned datum; its object views the whole.
  [[nodiscard]] Handle& add_part(Handle& whole, const Shape& shape, std::size_t index,
                                 void* object);
  void remove(Handle& handle);
  /// Removes all handles at the end of the flow.
  void remove_all();
  /// Returns the name of a datum, for reports.
  [[nodiscard]] std::string name_of(std::uint64_t id) const;
  /// Returns the datum that stands here where another rank has one of that id, which is not here:
  /// " (here ...)", or "", for reports.
  [[nodiscard]] std::string instead_of(std::uint64_t id) const;
  /// Returns the type and size of a datum, for reports.
  [[nodiscard]] std::string type_of(std::uint64_t id) const;
  /// Returns what tells a datum from others of its name, for reports: its number or tag.
  [[nodiscard]] static std::string number_of(std::uint64_t id);
  template <class F>
  void for_each(F f) {
    const sync::Lock lock(mutex_);
    for (Handle& handle : handles_) {
      if (handle.flow != nullptr) f(handle);
    }
  }

 private:
  void describe(const Handle& handle) const;

  struct Tag {
    std::uint64_t lives = 0;
    Handle* handle = nullptr;
  };

  const std::string flow_;
  const TeamCore& team_;
  const int rank_;
  const bool pruned_;
  Instances& instances_;

  mutable sync::Mutex mutex_;
  std::deque<Handle> handles_;
  std::deque<Handle*> free_ SHOAL_GUARDED_BY(mutex_);  // perhaps with instances
  std::uint64_t next_id_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::uint64_t, Tag> tags_ SHOAL_GUARDED_BY(mutex_);
};

/// Parks the caller until the future of a part of a flow is ready. **Errors**: as
/// TeamCore::wait_for_part().
void await(TeamCore& team, Future<void>& future);

class Core final : private team::Unsatisfied {
 public:
  /// `place`: in the program, where it made the flow.
  Core(TeamCore& team, std::string name, const FlowOptions& options,
       const std::source_location& place);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  [[nodiscard]] TeamCore& team() const { return team_; }
  [[nodiscard]] sched::Scheduler& scheduler() const { return team_.scheduler(); }
  [[nodiscard]] int rank() const { return team_.rank(); }
  [[nodiscard]] int size() const { return team_.size(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::source_location& place() const { return place_; }
  [[nodiscard]] Sequence& main() { return *sequences_.front(); }
  /// Returns whether the run has ended, so that calls are refused.
  [[nodiscard]] bool run_has_ended() const { return run_has_ended_; }
  void check_runs() const {
    if (run_has_ended_) team::refuse_after_run(title());
  }
  [[nodiscard]] Sequence& add_sequence(std::string name, const FlowOptions& options);
  /// Lets messages of this flow be handled.
  void open_handlers() {
    if (!team_.handlers().all_open()) team_.open_handlers();
  }

  [[nodiscard]] Instances& instances() { return instances_; }
  [[nodiscard]] Handles& handles() { return handles_; }
  [[nodiscard]] Codelets& codelets() { return codelets_; }
  /// Returns the comparison of the ranks' programs; nullptr for a single rank, or a pruned flow.
  [[nodiscard]] Comparison* comparison() const { return comparison_.get(); }
  /// Returns the check at the end of a pruned flow; nullptr for a single rank, or a flow with a
  /// comparison.
  [[nodiscard]] PrunedEnd* pruned_end() const { return pruned_end_.get(); }
  [[nodiscard]] Transfers& transfers() { return transfers_; }
  /// Returns the sequence that counts the reports on early values which other ranks owe to this
  /// one. Its count_created() is called with the lock of the transfers.
  [[nodiscard]] Sequence& reports() { return *reports_; }
  /// Returns the dependencies that traces record; nullptr without a recording.
  [[nodiscard]] Dependencies* dependencies() const { return dependencies_.get(); }
  /// Returns the graph that is written; nullptr if none is, or by another rank.
  [[nodiscard]] Dag* dag() const { return dag_.get(); }
  /// Returns whether the functions of tasks are not called, as only the graph is asked for.
  [[nodiscard]] bool skips_tasks() const { return skips_tasks_; }
  /// Returns the dispatcher; nullptr if the flow has no FlowScheduler.
  [[nodiscard]] Dispatcher* dispatcher() const { return dispatcher_.get(); }

 private:
  [[nodiscard]] std::uint64_t unsatisfied_count() const override;
  [[nodiscard]] std::vector<std::string> describe_unsatisfied() const override;
  void close_handlers() override;
  [[nodiscard]] bool is_in_use() const override;
  [[nodiscard]] std::string title() const override { return "flow '" + name_ + "'"; }
  bool run_ended() override;
  void attempts_begin() override { instances_.look_always(); }
  void drop_waiting_tasks();

  TeamCore& team_;
  const std::string name_;
  const std::source_location place_;
  bool run_has_ended_ = false;  // written when the workers have stopped
  std::vector<std::unique_ptr<Sequence>> sequences_;
  std::unique_ptr<Sequence> reports_;

  Instances instances_;
  Handles handles_;
  Codelets codelets_;
  std::unique_ptr<Dependencies> dependencies_;
  std::unique_ptr<Dag> dag_;
  bool skips_tasks_ = false;
  std::unique_ptr<Dispatcher> dispatcher_;

  // The last members: their handlers use the others.
  Transfers transfers_;
  std::unique_ptr<Comparison> comparison_;
  std::unique_ptr<PrunedEnd> pruned_end_;
};

}  // namespace shoal::flow
