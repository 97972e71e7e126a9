#pragma once
// The memory of the process.

#include <cstdint>

namespace bench {

/// Bytes of the pages that this process has touched and still has. **Errors**: std::runtime_error
/// if /proc does not tell.
[[nodiscard]] std::int64_t resident_bytes();
/// The most that it ever had at a time.
[[nodiscard]] std::int64_t peak_bytes();

}  // namespace bench
