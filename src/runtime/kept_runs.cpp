#include "runtime/kept_runs.hpp"

#include <shoal/detail/sync/mutex.hpp>

#include <utility>
#include <vector>

namespace shoal::runtime {

namespace {

struct Kept {
  sync::Mutex mutex;
  std::vector<std::shared_ptr<const void>> runs SHOAL_GUARDED_BY(mutex);
};

Kept& kept() {
  static auto* const kept = new Kept;  // destructors of globals may come later than any other
  return *kept;
}

}  // namespace

void keep_run(std::shared_ptr<const void> parts) {
  const sync::Lock lock(kept().mutex);
  kept().runs.push_back(std::move(parts));
}

std::size_t kept_run_count() {
  const sync::Lock lock(kept().mutex);
  return kept().runs.size();
}

}  // namespace shoal::runtime
