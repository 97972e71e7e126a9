// expect: shoal: the elements of this scan would lose a part, for the type of the sums is that
// lines: <= 25
#include <shoal/loops.hpp>

#include <vector>

void sums(const std::vector<double>& values, std::vector<double>& before) {
  shoal::parallel_exclusive_scan(values.begin(), values.end(), before.begin(), 0);
}
