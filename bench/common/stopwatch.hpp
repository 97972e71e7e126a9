#pragma once
// Time of the machine.

#include <chrono>

namespace bench {

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start_ = Clock::now();
};

/// Keeps the calling thread busy for so long.
inline void spin_us(double duration) {
  if (duration <= 0) return;
  const Stopwatch watch;
  while (watch.seconds() * 1e6 < duration) {
  }
}

}  // namespace bench
