// expect: shoal: combine\(a, b\) of a reduction takes and returns values
// lines: <= 16
#include <shoal/loops.hpp>

#include <vector>

std::vector<int> count() {
  return shoal::parallel_reduce(0, 10, std::vector<int>(10), [](auto& sum, int i) { ++sum[i]; });
}
