// expect: shoal: a priority is an integer, and a floating-point number would lose its
// lines: <= 20
#include <shoal/object.hpp>

void add(shoal::Executor& executor) {
  executor.spawn([] {}, 0.5);
}
