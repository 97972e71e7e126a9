// expect: shoal: the parameter of the body would cut off the fraction of the elements
// lines: <= 16
#include <shoal/loops.hpp>

#include <vector>

void sweep(const std::vector<double>& values) {
  shoal::parallel_for(values, [](int) {});
}
