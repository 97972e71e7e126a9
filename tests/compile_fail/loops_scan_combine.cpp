// expect: shoal: combine\(a, b\) of a scan takes and returns sums
// lines: <= 16
#include <shoal/loops.hpp>

#include <vector>

void sums(std::vector<double>& values) {
  shoal::parallel_scan(values.begin(), values.end(), values.begin(),
                       [](double& a, double b) { a += b; });
}
