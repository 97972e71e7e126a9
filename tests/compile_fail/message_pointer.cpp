// expect: shoal: a raw pointer cannot travel in a message
#include <shoal/shoal.hpp>

void make(shoal::World& world) {
  auto message = world.make_am([](const int* /*value*/) {});
  const int value = 1;
  message.send(shoal::Rank(0), &value);
}
