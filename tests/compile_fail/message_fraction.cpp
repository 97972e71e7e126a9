// expect: shoal: a floating-point argument would lose its fraction
// lines: <= 16
#include <shoal/shoal.hpp>

void make(shoal::World& world) {
  auto message = world.make_am([](int /*count*/) {});
  message.send(shoal::Rank(0), 0.5);
}
