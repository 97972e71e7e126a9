// expect: shoal: a floating-point argument would lose its fraction, the parameter is an integer
// lines: <= 20
#include <shoal/object.hpp>

void add(shoal::DistributedArray<int>& array) {
  array.apply<[](int& element, int by) { element += by; }>(3, 0.5);
}
