#include "flow/instances.hpp"

#include "flow/dependencies.hpp"

namespace shoal::flow {

Instance& Instances::take() {
  const sync::Lock lock(mutex_);
  if (free_.empty()) return instances_.emplace_back();
  Instance* const instance = free_.back();
  free_.pop_back();
  if (dependencies_ != nullptr) dependencies_->forget(*instance);
  return *instance;
}

void Instances::put_back(Instance& instance) {
  const sync::Lock lock(mutex_);
  free_.push_back(&instance);
}

}  // namespace shoal::flow
