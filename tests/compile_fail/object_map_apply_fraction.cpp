// expect: shoal: a floating-point argument would lose its fraction, the parameter is an integer
// lines: <= 20
#include <shoal/object.hpp>

void add(shoal::DistributedMap<int, int>& map) {
  map.visit<[](const int&, int& value, int by) { value += by; }>(3, 0.5);
}
