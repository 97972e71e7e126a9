#pragma once
// Memory for the stacks of tasks, with a guard below each, and what is said when one overflows.

#include <shoal/detail/env/guards.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace shoal::env {

struct Stack {
  std::byte* bottom = nullptr;  // the lowest address that may be used
  std::size_t size_bytes = 0;
};

/// Size of the guard below each stack: frames of up to this size cannot jump over it.
inline constexpr std::size_t kGuardBytes = std::size_t{64} << 10U;

/// Stacks of one size, cut from large mappings. Only pages that were touched take memory.
/// **Caller**: one thread at a time.
class StackMemory {
 public:
  /// Makes a memory for stacks with at most `mapped_max` mapped guards; 0: as many as the kernel
  /// allows, except a reserve: (vm.max_map_count - 4096) / 2. `mapped` counts the guards of each
  /// StackMemory that has it; nullptr: a count of its own.
  explicit StackMemory(std::size_t stack_bytes, Guards guards = Guards::automatic,
                       std::size_t mapped_max = 0, std::shared_ptr<GuardCount> mapped = nullptr);
  /// Gives all memory back, except mappings in which a stack is kept.
  ~StackMemory();
  StackMemory(const StackMemory&) = delete;
  StackMemory& operator=(const StackMemory&) = delete;

  /// Returns a stack. **Errors**: Error that says which limit of the system was reached.
  Stack allocate();
  /// The stack stays mapped for ever.
  void keep(const Stack& stack);

  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  struct Slab {
    std::byte* begin = nullptr;
    std::size_t size_bytes = 0;
    bool kept = false;
  };
  void add_slab();
  void guard(std::byte* place);

  const std::size_t guard_bytes_;
  const std::size_t stack_bytes_;  // with its guard
  Guards guards_;
  std::size_t mapped_max_;
  const std::shared_ptr<GuardCount> mapped_;
  std::size_t mapped_here_ = 0;
  std::size_t count_ = 0;
  std::size_t left_in_slab_ = 0;
  std::vector<Slab> slabs_;
};

/// A fault of this thread, in its signal handler.
struct Fault {
  int signal = 0;
  const void* address = nullptr;
  bool ends_process = false;  // no other code handles it
};

/// Writes what is known about a fault to `text` and returns how many characters, 0 if nothing is.
/// Called in a signal handler: first for what is certain, then for names, which may be damaged.
using FaultExplainer = std::size_t (*)(const Fault& fault, bool names, char* text,
                                       std::size_t size);

/// While it lives, a fault on this thread that `explain` knows is written to standard error before
/// the process dies of it as it would have. **Lifetime**: of the thread's work; begins and ends on
/// the thread.
class FaultWatch {
 public:
  explicit FaultWatch(FaultExplainer explain);
  ~FaultWatch();
  FaultWatch(const FaultWatch&) = delete;
  FaultWatch& operator=(const FaultWatch&) = delete;

 private:
  std::vector<std::byte> memory_;  // the signal handler's stack
  bool installed_ = false;         // this thread had none of its own
};

}  // namespace shoal::env
