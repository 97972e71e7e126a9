#include "net/mpi/mpi_progress.hpp"

#include <algorithm>

namespace shoal::net {

namespace {
// Arrivals announce themselves to polls only, so the engine looks again after a while; the longer
// nothing came, the longer the while.
constexpr int kSpins = 64;
constexpr int kYields = 64;
constexpr std::uint64_t kFirstParkNs = 10'000;
constexpr std::uint64_t kLongestParkNs = 200'000;
}  // namespace

env::StepResult MpiProgress::step() {
  if (stop_.load(std::memory_order_seq_cst)) return env::StepResult::stopped;
  const bool worked = engine_.advance();
  if (engine_.has_failed() && failure_waker_) failure_waker_();
  return worked ? env::StepResult::worked : env::StepResult::idle;
}

void MpiProgress::run() {
  int idle_steps = 0;
  while (true) {
    switch (step()) {
      case env::StepResult::stopped:
        return;
      case env::StepResult::worked:
        idle_steps = 0;
        break;
      case env::StepResult::idle:
        rest(++idle_steps);
        break;
    }
  }
}

void MpiProgress::rest(int idle_steps) {
  if (idle_steps <= kSpins) return;
  if (idle_steps <= kSpins + kYields) {
    env_.yield();
    return;
  }
  const int doublings = std::min(idle_steps - kSpins - kYields - 1, 10);
  const std::uint64_t timeout_ns = std::min(kFirstParkNs << doublings, kLongestParkNs);
  parked_.store(true, std::memory_order_seq_cst);
  if (!engine_.has_submissions() && !stop_.load(std::memory_order_seq_cst))
    parker_->park(timeout_ns);
  parked_.store(false, std::memory_order_seq_cst);
}

void MpiProgress::request_stop() {
  stop_.store(true, std::memory_order_seq_cst);
  parker_->unpark();
}

void MpiProgress::wake() {
  if (parked_.load(std::memory_order_seq_cst)) parker_->unpark();
}

}  // namespace shoal::net
