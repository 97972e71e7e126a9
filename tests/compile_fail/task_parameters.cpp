// expect: shoal: the function of a task takes no parameters
// lines: <= 40
#include <shoal/shoal.hpp>

void make(shoal::World& world) {
  world.spawn([](int /*i*/) {});
  auto future = world.async([](int i) { return i; }, {.name = "square"});
}
