#include "common/progress_bar.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <shoal/shoal.hpp>

#include <utility>

#include "cli/output.hpp"

namespace apps {
namespace {

constexpr std::uint64_t kPeriod_ns = 100'000'000;
constexpr std::uint64_t kWidth = 40;

}  // namespace

ProgressBar::ProgressBar(shoal::World& world, std::string title, bool wanted)
    : world_(world),
      title_(std::move(title)),
      shown_(wanted && world.rank() == 0 && ::isatty(STDERR_FILENO) != 0) {}

void ProgressBar::start(std::uint64_t total) {
  total_ = total;
  // No task runs yet: submitting tasks orders these stores before their loads.
  done_.store(0, std::memory_order_relaxed);
  next_draw_ns_.store(0, std::memory_order_relaxed);
}

void ProgressBar::advance() {
  if (!shown_) return;
  // Relaxed: both are only counters; drawing an old number does no harm.
  const std::uint64_t done = done_.fetch_add(1, std::memory_order_relaxed) + 1;
  const std::uint64_t now_ns = world_.now_ns();
  std::uint64_t next_ns = next_draw_ns_.load(std::memory_order_relaxed);
  if (now_ns < next_ns) return;
  // The winner of the exchange draws, so that two workers do not write at once.
  if (next_draw_ns_.compare_exchange_strong(next_ns, now_ns + kPeriod_ns,
                                            std::memory_order_relaxed)) {
    draw(done);
  }
}

void ProgressBar::finish() const {
  if (shown_) cli::tell(fmt::format("\r{:{}}\r", "", title_.size() + kWidth + 10));
}

void ProgressBar::draw(std::uint64_t done) const {
  const std::uint64_t filled = total_ == 0 ? kWidth : done * kWidth / total_;
  const std::uint64_t percent = total_ == 0 ? 100 : done * 100 / total_;
  cli::tell(
      fmt::format("\r{} [{:#<{}}{:{}}] {:3}%", title_, "", filled, "", kWidth - filled, percent));
}

}  // namespace apps
