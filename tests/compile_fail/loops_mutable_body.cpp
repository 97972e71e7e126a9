// expect: the body of a loop takes an iteration
// lines: <= 12
#include <shoal/loops.hpp>

void sweep() {
  shoal::parallel_for(0, 10, [sum = 0](int i) mutable { sum += i; });
}
