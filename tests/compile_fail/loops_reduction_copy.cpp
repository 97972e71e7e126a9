// expect: shoal: map\(sum, i\) of a reduction adds to the sum, which it takes by reference
// lines: <= 20
#include <shoal/loops.hpp>

#include <vector>

std::vector<int> append(std::vector<int> none) {
  const auto add = [](std::vector<int> sum, int i) { sum.push_back(i); };
  return shoal::parallel_reduce(0, 10, none, add, [](const auto& a, const auto&) { return a; });
}
