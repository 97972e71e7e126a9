#pragma once
// End of a pruned flow: whether each value that was sent was also received.

#include <shoal/detail/sync/mutex.hpp>
#include <shoal/future.hpp>
#include <shoal/message.hpp>

#include <cstdint>
#include <vector>

namespace shoal::flow {

class Core;

/// The ranks of a pruned flow do not compare their programs. A rank that leaves out a task that
/// writes a datum goes on reading its old copy, and the owner sends it a value that it does not
/// expect. When all ranks end the flow, rank 0 adds up the values sent to each. A rank waits until
/// so many have arrived; those that no task has received are an error.
///
/// Rejected: a check in each wait(). That waits for the own rank only, so a value that no task
/// receives yet may belong to a task that the rank inserts later.
class PrunedEnd {
 public:
  explicit PrunedEnd(Core& core);

  /// Collective, when nothing of the flow is under way on this rank. **Errors**: CheckError that
  /// names a datum, and the rank that has sent its value.
  void end();
  /// Appends the numbers of its handlers.
  void add_handlers(std::vector<std::uint32_t>& numbers) const {
    numbers.push_back(sent_.number());
    numbers.push_back(total_.number());
  }

 private:
  /// Numbers of values sent by one rank: counts[i] to ranks[i].
  void on_sent(const std::vector<int>& ranks, const std::vector<std::uint64_t>& counts);

  Core& core_;
  sync::Mutex mutex_;
  // On rank 0.
  std::vector<std::uint64_t> totals_ SHOAL_GUARDED_BY(mutex_);  // by receiver
  int expected_ SHOAL_GUARDED_BY(mutex_);                       // ranks that have not ended
  Promise<void> all_arrived_;
  Future<void> end_;

  // The last members: their handlers use the others.
  const ActiveMessage<std::vector<int>, std::vector<std::uint64_t>> sent_;
  const ActiveMessage<std::uint64_t> total_;
};

}  // namespace shoal::flow
