// expect: shoal: a floating-point argument would lose its fraction, the parameter is an integer
// lines: <= 20
#include <shoal/object.hpp>

void add(shoal::Executor& executor) {
  executor.spawn<[](int) {}>(0.5);
}
