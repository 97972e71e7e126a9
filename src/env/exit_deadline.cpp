#include "env/exit_deadline.hpp"

#include "env/host.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

namespace shoal::env {

ExitDeadline::ExitDeadline(std::uint64_t timeout_ns, std::string text, int exit_code)
    : timeout_ns_(timeout_ns),
      text_(std::move(text)),
      exit_code_(exit_code),
      thread_("shoal deadline", "the deadline of --stall-abort", [this] { run(); }) {}

ExitDeadline::~ExitDeadline() {
  met_.store(true, std::memory_order_seq_cst);
  alarm_.ring();
}

void ExitDeadline::run() {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::nanoseconds(timeout_ns_);
  while (!met_.load(std::memory_order_seq_cst)) {
    const auto left = std::chrono::nanoseconds(end - Clock::now()).count();
    if (left <= 0) {
      write_to_standard_error(text_);
      std::_Exit(exit_code_);
    }
    alarm_.wait(static_cast<std::uint64_t>(left));
  }
}

}  // namespace shoal::env
