#include "net/mpi/mpi_yields.hpp"

namespace shoal::net {

// Open MPI reads its parameter once, in MPI_Init(), which programs may call.
MpiYields::MpiYields(Switch* set) {
  if (set == nullptr) return;
  const bool were_on = set(0) != 0;
  if (!were_on) return;
  set_ = set;
  static_cast<void>(set(1));
}

}  // namespace shoal::net
