#pragma once
// Work that was there, beside workers that had none: integrals over the time of a run.

#include "trace_tool/model.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shoal::trace_tool {

/// A stretch of time in which workers of a rank were idle although tasks were there.
struct Waiting {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  int worker = -1;  // that the tasks are bound to
};

/// Load of a rank's workers, and reasons why they were idle. Nanoseconds of workers.
struct RankLoad {
  int workers = 0;
  std::int64_t busy = 0;
  std::int64_t idle = 0;
  std::map<int, std::int64_t> bound;         // ready tasks were bound to this one worker
  std::map<int, std::int64_t> began;         // the threads of workers
  std::map<NameId, std::int64_t> locks;      // tasks waited for this lock
  std::map<NameId, std::int64_t> insertion;  // none was ready, and this one made them
  std::int64_t others_idle = 0;      // time of other ranks' workers, while tasks waited here
  std::vector<Waiting> bound_times;  // apart, in the order of time
  std::map<int, std::map<NameId, int>> bound_names;  // tasks by worker and name
};

/// Loads of all ranks that have workers.
[[nodiscard]] std::map<int, RankLoad> loads_of(const Model& model);

/// Returns whether a task that stands still for this reason waits for a lock.
[[nodiscard]] bool is_lock_wait(const Model& model, NameId reason);

/// Returns whether the track is that of a worker.
[[nodiscard]] bool is_worker(const Model& model, std::uint32_t track);

/// Time for which workers waited for processors that others held.
struct Disturbance {
  bool is_known = false;
  bool may_be_held = false;       // the host of a virtual machine may have held processors, unseen
  bool may_be_placement = false;  // the system may have put workers on one processor
  int workers = 0;                // of which it is known
  double share = 0;               // of the time of workers, that they waited for a processor
  double most = 0;                // likewise, of the worker that waited longest
  double pressure = 0;            // time of workers on processors, of all that the processors had
  double on_processors = 0;       // of the time in which workers ran tasks and handlers, at most 1
  double writer = 0;  // time for which threads that write the trace held them, of the run
  double stolen = 0;  // time for which hosts of virtual machines held processors, of the run

  /// Share of the run that this may have cost. Few workers may wait one after the other, and all
  /// others for each of them; of many, several wait at a time.
  [[nodiscard]] double largest_cost() const {
    constexpr int kInTurn = 32;
    return std::max(most, std::clamp(workers, 2, kInTurn) * share) + stolen;
  }
};
[[nodiscard]] Disturbance disturbance_of(const Model& model);

/// Processors that the processes of a host may use, and those that there are.
struct HostShape {
  int workers = 0;     // that ran tasks
  int allowed = 0;     // in the masks of all processes together; 0: unknown
  int processors = 0;  // that they might use without masks; 0: unknown
};
[[nodiscard]] std::map<std::string, HostShape> hosts_of(const Model& model);

/// The host of each rank of a real run that has recorded it. Messages within a host pass through no
/// network.
[[nodiscard]] std::map<int, std::string> hosts_of_ranks(const Model& model);

}  // namespace shoal::trace_tool
