// expect: shoal: the sums of this scan would lose a part in `out`
// lines: <= 16
#include <shoal/loops.hpp>

#include <vector>

void sums(const std::vector<double>& values, std::vector<int>& out) {
  shoal::parallel_scan(values.begin(), values.end(), out.begin());
}
