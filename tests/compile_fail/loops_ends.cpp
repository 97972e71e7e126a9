// expect: shoal: the ends of a loop over numbers are integers
// lines: <= 12
#include <shoal/loops.hpp>

void sweep() {
  shoal::parallel_for(0.0, 1.0, [](double) {});
}
