#pragma once
// Work with a declared cost.

#include <shoal/cost.hpp>

#include <utility>

namespace shoal {

namespace sched {

/// Keeps the calling worker busy for `cost`, in a simulated world. Returns false if the work itself
/// is not to be done (--sim-dry).
[[nodiscard]] bool spend(const Cost& cost);
/// Returns whether spend() does anything, which is so in simulated worlds.
[[nodiscard]] bool costs_count();

}  // namespace sched

/// Calls `work`, which takes `cost` in a simulated world: its worker is busy for so long while
/// others go on, and then the writes of `work` become visible to them. With --sim-dry the time
/// passes, but `work` is not called. In real runs, and with --sim-cost measured, the cost is
/// ignored.
///
/// **Caller**: a task, a handler or the main function, holding no lock of its own: in a simulated
/// world the other workers run on the same thread. **Blocks**: never; it keeps its worker.
/// **Errors**: CheckError, in simulated worlds, for a cost that is negative or more than 10^6
/// seconds; exceptions of `work` are passed on. **Cost**: a few nanoseconds outside simulated
/// worlds.
template <class Work>
void compute(const Cost& cost, Work&& work) {
  if (sched::spend(cost)) std::forward<Work>(work)();
}

}  // namespace shoal
