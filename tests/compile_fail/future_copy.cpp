// expect: get\(\) moves the value out: use share\(\)
// lines: <= 12
#include <shoal/shoal.hpp>

void take_twice(shoal::Future<int> first) {
  shoal::Future<int> second = first;
  first.get();
  second.get();
}
