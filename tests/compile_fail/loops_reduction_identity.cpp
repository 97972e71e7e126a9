// expect: shoal: the values of this reduction would lose a part, for the type of the result is that
// lines: <= 25
#include <shoal/loops.hpp>

#include <vector>

double sum(const std::vector<double>& values) {
  return shoal::parallel_reduce(values, 0, [](double value) { return 2 * value; });
}
