#pragma once
// A barrier between two threads that only one of them pays for.

namespace shoal::sync {

/// Returns whether heavy_barrier() works; the answer is the same during the whole life of the
/// process. It does not under ThreadSanitizer, which does not model it.
[[nodiscard]] bool has_asymmetric_barrier();

/// Makes each other thread of the process pass a full memory barrier at some point between the call
/// and the return. Returns false if that failed, as it always does where has_asymmetric_barrier()
/// is false. **Caller**: any thread. **Cost**: microseconds. **Source**: membarrier(2).
[[nodiscard]] bool heavy_barrier();

}  // namespace shoal::sync
