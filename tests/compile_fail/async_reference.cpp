// expect: shoal: the result of a task outlives the function: return a value that owns
// lines: <= 1000
#include <shoal/shoal.hpp>

int first(shoal::World& world, int x) {
  return world.async([x]() -> const int& { return x; }).get();
}
