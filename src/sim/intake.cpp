#include "sim/intake.hpp"

#include <algorithm>
#include <utility>

namespace shoal::sim {

// One that is being received is never overtaken: its first byte is in the past.
void Intake::add(Reception reception) {
  const auto after =
      std::ranges::upper_bound(coming_, reception.first_ns, {}, &Reception::first_ns);
  const bool is_next = after == coming_.begin();
  coming_.insert(after, std::move(reception));
  if (is_next) plan();
}

void Intake::plan() {
  const Reception& next = coming_.front();
  const std::uint64_t begin_ns = std::max(next.first_ns, free_ns_);
  const std::uint64_t time_ns = next.begun ? begin_ns : begin_ns + next.busy_ns;
  simulator_.at(time_ns, [this, version = ++version_] {
    if (version == version_) advance();
  });
}

void Intake::advance() {
  if (coming_.front().begun) {
    const auto begun = std::exchange(coming_.front().begun, nullptr);
    const std::uint64_t end_ns = simulator_.agenda_ns() + coming_.front().busy_ns;
    plan();
    return begun(end_ns);
  }
  const std::function<void()> received = std::move(coming_.front().received);
  coming_.pop_front();
  free_ns_ = simulator_.agenda_ns();
  if (!coming_.empty()) plan();
  received();
}

}  // namespace shoal::sim
