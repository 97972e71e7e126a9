// expect: shoal: make_am\(\) takes a function or a function object with one operator\(\)
// lines: <= 15
#include <shoal/shoal.hpp>

void make(shoal::World& world) {
  auto message = world.make_am([](auto /*value*/) {});
  message.send(shoal::Rank(0), 1);
}
