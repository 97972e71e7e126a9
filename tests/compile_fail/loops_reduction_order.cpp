// expect: shoal: map\(sum, i\) of a reduction adds to the sum, which it takes by reference
// lines: <= 16
#include <shoal/loops.hpp>

#include <functional>
#include <vector>

double sum(const std::vector<double>& values) {
  return shoal::parallel_reduce(values, 0.0, std::plus<>());
}
