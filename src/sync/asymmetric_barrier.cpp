#include <shoal/detail/sync/asymmetric_barrier.hpp>

#include <shoal/detail/base/sanitizers.hpp>

#if !defined(SHOAL_TSAN) && defined(__linux__) && __has_include(<linux/membarrier.h>)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#define SHOAL_MEMBARRIER 1
#endif

namespace shoal::sync {

#ifdef SHOAL_MEMBARRIER

namespace {
bool call(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }
bool set_up() { return call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && heavy_barrier(); }
}  // namespace

bool has_asymmetric_barrier() {
  static const bool has = set_up();
  return has;
}

bool heavy_barrier() { return call(MEMBARRIER_CMD_PRIVATE_EXPEDITED); }

#else

bool has_asymmetric_barrier() { return false; }
bool heavy_barrier() { return false; }

#endif

}  // namespace shoal::sync
