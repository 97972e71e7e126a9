#include "net/mpi/mpi_progress.hpp"

namespace shoal::net {

env::StepResult MpiProgress::step() {
  if (stop_.load(std::memory_order_seq_cst)) return env::StepResult::stopped;
  const bool worked = engine_.advance();
  if (engine_.has_failed() && failure_waker_) failure_waker_();
  return worked ? env::StepResult::worked : env::StepResult::idle;
}

void MpiProgress::run() {
  while (true) {
    switch (step()) {
      case env::StepResult::stopped:
        return;
      case env::StepResult::worked:
        rest_.end();
        break;
      case env::StepResult::idle:
        rest();
        break;
    }
  }
}

void MpiProgress::rest() {
  const std::uint64_t timeout_ns = rest_.next_sleep_ns();
  if (timeout_ns == 0) return;
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
