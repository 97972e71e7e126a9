#include <shoal/compute.hpp>

#include "sched/worker.hpp"

namespace shoal::sched {

bool spend(const Cost& cost) {
  Worker* worker = current_worker();
  return worker == nullptr || worker->spend(cost);
}

bool costs_count() {
  const Worker* worker = current_worker();
  return worker != nullptr && worker->scheduler().env().charges();
}

bool poll_missed() {
  constexpr int kMissesPerStep = 100;
  Worker* const worker = current_worker();
  if (worker == nullptr || !worker->is_stepping()) return false;
  if (++worker->missed_polls % kMissesPerStep == 0) static_cast<void>(worker->spend({}));
  return false;
}

}  // namespace shoal::sched
