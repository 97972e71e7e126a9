// expect: shoal: this loop takes elements with random access
// lines: <= 25
#include <shoal/loops.hpp>

#include <list>

int sum(const std::list<int>& values) {
  return shoal::parallel_reduce(values, 0, [](int value) { return value; });
}
