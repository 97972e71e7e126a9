#include "sim/intake.hpp"

#include <algorithm>

namespace shoal::sim {

// One that is being received is never overtaken: its first byte is in the past.
void Intake::add(const Reception& reception) {
  if (coming_.empty() || coming_.back().first_ns <= reception.first_ns) {
    coming_.push_back(reception);
    if (coming_.size() == 1) plan();
    return;
  }
  const auto after =
      std::ranges::upper_bound(coming_, reception.first_ns, {}, &Reception::first_ns);
  const bool is_next = after == coming_.begin();
  coming_.insert(after, reception);
  if (is_next) plan();
}

void Intake::plan() {
  const Reception& next = coming_.front();
  const std::uint64_t begin_ns = std::max(next.first_ns, free_ns_);
  const std::uint64_t time_ns = next.tells_begin ? begin_ns : begin_ns + next.busy_ns;
  simulator_.at(time_ns, [this, version = ++version_] {
    if (version == version_) advance();
  });
}

void Intake::advance() {
  const Reception next = coming_.front();
  if (next.tells_begin) {
    coming_.front().tells_begin = false;
    plan();
    return next.receiver->begun(next, simulator_.agenda_ns() + next.busy_ns);
  }
  coming_.pop_front();
  free_ns_ = simulator_.agenda_ns();
  if (!coming_.empty()) plan();
  next.receiver->received(next);
}

}  // namespace shoal::sim
