#pragma once
// A barrier between two threads that only one of them pays for.

namespace shoal::sync {

/// Whether heavy_barrier() works here; the same for the whole life of the process. Not under
/// ThreadSanitizer, which knows nothing of it.
[[nodiscard]] bool has_asymmetric_barrier();

/// Afterwards each other thread of the process has passed a full memory barrier at some point
/// between the call and the return. Any thread; takes microseconds. False: it has not, and never
/// will where has_asymmetric_barrier() is false. **Source**: membarrier(2).
[[nodiscard]] bool heavy_barrier();

}  // namespace shoal::sync
