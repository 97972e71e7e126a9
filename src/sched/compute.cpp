#include <shoal/sched/compute.hpp>

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

}  // namespace shoal::sched
