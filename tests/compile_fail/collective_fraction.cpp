// expect: shoal: the operation returns a larger type of number than it combines
// lines: <= 16
#include <shoal/shoal.hpp>

int mean(shoal::World& world) {
  return world.allreduce(world.rank().value(), [](int a, int b) { return 0.5 * (a + b); });
}
