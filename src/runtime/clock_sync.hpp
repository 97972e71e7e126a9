#pragma once
// Compares the clocks of the processes of a recorded run while it runs.

#include <shoal/detail/net/transport.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include "net/mpi_transport.hpp"
#include "runtime/rank_runtime.hpp"
#include "trace/clocks.hpp"
#include "trace/file.hpp"
#include "trace/recorder.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace shoal::runtime {

/// A question for the time of another process, and its answer.
struct ClockQuestion {
  std::uint64_t round = 0;  // of the process that asks
  std::uint64_t start_ticks = 0;
  std::uint64_t remote_ticks = 0;  // in the answer
};

/// Every process compares its clock with that of its parent in a tree with process 0 as its root,
/// by a few round trips every two seconds: uncounted messages on the control lane. The fastest one
/// becomes a sync point. Busy workers make it slow, and then it says little: readers use it as far
/// as it contradicts what they know (trace::agree()).
class ClockSync {
 public:
  /// The ranks are those of this process. All outlive this. Caller: before the workers start.
  ClockSync(env::Env& env, trace::Recorder& recorder, const net::Layout& layout,
            const std::vector<std::unique_ptr<RankRuntime>>& ranks);
  /// Called after the workers have stopped.
  ~ClockSync();
  ClockSync(const ClockSync&) = delete;
  ClockSync& operator=(const ClockSync&) = delete;

  /// Begins the next round trips if they are due. **Caller**: one thread. Never blocks for long.
  void turn();

  // Called by handlers of control messages. Never block.
  void on_question(const team::Message& message, ClockQuestion question);
  void on_answer(const team::Message& message, ClockQuestion answer);

 private:
  void ask(team::Messenger& messenger, std::uint64_t round);

  env::Env& env_;
  trace::Recorder& recorder_;
  const net::Layout layout_;
  const std::vector<std::unique_ptr<RankRuntime>>& ranks_;
  std::uint64_t due_ns_ = 0;  // the thread's own

  sync::Mutex mutex_;
  std::uint64_t round_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::vector<trace::PingPong> trips_ SHOAL_GUARDED_BY(mutex_);  // of the round
};

/// Clock of this process, and how it compares with that of its parent in the tree.
struct ComparedClock {
  int parent = -1;          // -1: the root, which is process 0
  trace::SyncPoint point;   // of the comparison that has just been made
  double ticks_per_ns = 1;  // of this process
};

/// Waits until a moment that process 0 chooses, on the clock `read` of this process; see
/// trace::WindowBarrier. Returns that moment in ticks. Without a value on all processes: one of
/// them was late again and again, and the barrier has ended without a moment.
/// **Caller** and **Blocks**: as MpiTransport::compare_clocks(); for a second at most.
[[nodiscard]] std::optional<std::uint64_t> leave_together(net::MpiTransport& transport, int process,
                                                          const ComparedClock& mine,
                                                          const net::ReadClock& read);

}  // namespace shoal::runtime
