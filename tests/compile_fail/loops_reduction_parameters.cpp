// expect: shoal: the parameters of combine\(a, b\) are smaller than the type of the identity
// lines: <= 16
#include <shoal/loops.hpp>

#include <vector>

double largest(const std::vector<double>& values) {
  return shoal::parallel_reduce(
      values, 0.0, [](double value) { return value; }, [](int a, int b) { return a > b ? a : b; });
}
