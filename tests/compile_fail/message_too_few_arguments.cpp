// expect: shoal: the number of arguments differs from the handler's parameters
// lines: <= 20
#include <shoal/shoal.hpp>

void make(shoal::World& world) {
  auto message = world.make_am([](int /*a*/, double /*b*/) {});
  message.send(shoal::Rank(0), 1);
}
