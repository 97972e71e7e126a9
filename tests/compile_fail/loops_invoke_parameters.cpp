// expect: shoal: parallel_invoke\(\) calls functions that take no parameters
// lines: <= 25
#include <shoal/loops.hpp>

void both() {
  shoal::parallel_invoke([] {}, [](int) {});
}
