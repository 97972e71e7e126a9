#pragma once
// Work with a declared cost.

#include <shoal/cost.hpp>

#include <utility>

namespace shoal {

namespace sched {

/// The calling worker is busy for `cost`, if costs count here. False: the work is only pretended.
[[nodiscard]] bool spend(const Cost& cost);
/// Whether spend() does anything: in simulated worlds.
[[nodiscard]] bool costs_count();

}  // namespace sched

/// Does `work`, which takes `cost` in a simulated world: its worker is busy for so long, others go
/// on, and then what the work did becomes visible to them. With --sim-dry it takes its time but is
/// not done. In real runs, and with --sim-cost measured, the cost says nothing.
///
/// **Caller**: a task, a handler or the main function, holding no lock of its own: in a simulated
/// world the other workers run on the same thread. **Blocks**: never; it keeps its worker.
/// **Errors**: CheckError, in simulated worlds, for a cost that is negative or more than 10^6
/// seconds. Exceptions of `work` go through. **Cost**: a few nanoseconds outside simulated worlds.
template <class Work>
void compute(const Cost& cost, Work&& work) {
  if (sched::spend(cost)) std::forward<Work>(work)();
}

}  // namespace shoal
