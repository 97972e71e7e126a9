#include "net/mpi/mpi_yields.hpp"

#include <dlfcn.h>

namespace shoal::net {

MpiYields::MpiYields(Switch* set) {
  if (set == nullptr) return;
  const bool were_on = set(false);
  if (!were_on) return;
  set_ = set;
  static_cast<void>(set(true));
}

// Not in its interface, but exported from version 1.3 to 5.0. Its parameter is read once, by
// MPI_Init(), which programs call.
MpiYields MpiYields::of_mpi() {
  return MpiYields(
      reinterpret_cast<Switch*>(dlsym(RTLD_DEFAULT, "opal_progress_set_yield_when_idle")));
}

}  // namespace shoal::net
