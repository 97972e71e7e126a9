#pragma once
// Control of the floating-point unit.

#include <cstdint>

namespace shoal {

/// Rounding mode, flush-to-zero and masks of exceptions of a thread, with the flags of exceptions
/// in SSE code. On x86-64 and aarch64; elsewhere it is empty.
class FloatControl {
 public:
  /// Returns the floating-point control of the calling thread.
  [[nodiscard]] static FloatControl here() {
    FloatControl control;
#if defined(__x86_64__)
    control.mxcsr_ = __builtin_ia32_stmxcsr();
    asm volatile("fnstcw %0" : "=m"(control.x87_));
#elif defined(__aarch64__)
    asm volatile("mrs %0, fpcr" : "=r"(control.fpcr_));
#endif
    return control;
  }
  /// Sets the calling thread's. Without a look whether it differs: to read MXCSR takes several
  /// times as long as to write it.
  void apply() const {
#if defined(__x86_64__)
    asm volatile("ldmxcsr %0" : : "m"(mxcsr_));
    asm volatile("fldcw %0" : : "m"(x87_));
#elif defined(__aarch64__)
    if (here().fpcr_ != fpcr_) asm volatile("msr fpcr, %0" : : "r"(fpcr_));
#endif
  }

#if defined(__aarch64__)
  static constexpr bool kept_by_switch = false;

 private:
  std::uint64_t fpcr_ = 0;
#else
  /// A switch of Boost.Context keeps it with the stack.
  static constexpr bool kept_by_switch = true;

 private:
  std::uint32_t mxcsr_ = 0;
  std::uint16_t x87_ = 0;
#endif
};

}  // namespace shoal
