#pragma once
// Guards below the stacks of tasks, as options choose them.

#include <atomic>
#include <cstddef>

namespace shoal::env {

/// How the guard below a stack is made to fault.
enum class Guards {
  automatic,  // without a mapping of its own where the kernel can (Linux 6.13), else mapped
  mapped,     // each splits a mapping in two; the kernel allows a process vm.max_map_count of them
};

/// How many mapped guards there are; shared by all of a process, as the kernel's limit is. relaxed:
/// it orders nothing.
using GuardCount = std::atomic<std::size_t>;

}  // namespace shoal::env
