#include <shoal/detail/sched/gate.hpp>

#include <shoal/detail/sched/dependencies.hpp>

#include <shoal/when.hpp>

namespace shoal::sched {

// A part may end, and have enough ended, while others are still to be seen: then the end of this
// function passes the gate.
void Gate::watch(Completion& self, const std::vector<Completion*>& parts, std::size_t needed) {
  self_ = &self;
  places_ = std::make_unique<Place[]>(parts.size());  // NOLINT: see places_
  place_count_ = parts.size();
  join_ = new_join();
  missing_.store(kWatching + static_cast<std::int64_t>(needed), std::memory_order_relaxed);
  const std::int64_t ended = join_ == 0 ? enlist_in<false>(parts) : enlist_in<true>(parts);
  const std::int64_t seen = kWatching + ended;
  // acq_rel: the last one sees the values of the others
  if (missing_.fetch_sub(seen, std::memory_order_acq_rel) <= seen) try_to_pass();
}

// Returns how many have ended.
template <bool kIsRecorded>
std::int64_t Gate::enlist_in(const std::vector<Completion*>& parts) {
  std::int64_t ended = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Place& place = places_[i];
    place.gate = this;
    if (parts[i] == nullptr) {
      ++ended;
      continue;
    }
    if constexpr (kIsRecorded) place.join = parts[i]->join();
    add_reference(self_);
    if (parts[i]->enlist(place)) {
      place.of = parts[i];
      continue;
    }
    if constexpr (kIsRecorded) {
      const std::uint64_t by = parts[i]->join();
      if (by != 0) record_fulfilled(join_, by);
    }
    remove_reference(self_);
    ++ended;
  }
  return ended;
}

void Gate::end_one(std::uint64_t join) {
  Completion* const self = self_;
  if (join_ != 0) record_fulfilled(join_, join);
  if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) try_to_pass();
  remove_reference(self);
}

void Gate::try_to_pass() {
  if (decided_.exchange(true, std::memory_order_acq_rel)) return;
  leave_lists();
  pass();
}

bool Gate::leave() noexcept {
  if (decided_.exchange(true, std::memory_order_acq_rel)) return false;
  leave_lists();
  return true;
}

// The caller has a reference of its own. A place that is not in its list any more is being woken.
void Gate::leave_lists() noexcept {
  for (std::size_t i = 0; i < place_count_; ++i) {
    Place& place = places_[i];
    if (place.of != nullptr && place.of->withdraw(place)) remove_reference(self_);
  }
}

std::exception_ptr first_error(const std::vector<Completion*>& parts) {
  std::exception_ptr first;
  for (Completion* const part : parts) {
    const std::exception_ptr error = part != nullptr ? part->take_error() : nullptr;
    if (first == nullptr) first = error;
  }
  return first;
}

Scheduler& scheduler_of(const std::vector<Completion*>& parts, const char* what) {
  for (const Completion* const part : parts) {
    if (part != nullptr) return part->scheduler();
  }
  return current_scheduler(what, kUseInTask);
}

}  // namespace shoal::sched
