// expect: shoal: send\(\) takes am<function> or a lambda that captures nothing
// lines: <= 15
#include <shoal/shoal.hpp>

void make(shoal::World& world) {
  int sum = 0;
  world.send(
      shoal::Rank(0), [&sum](int value) { sum += value; }, 1);
}
