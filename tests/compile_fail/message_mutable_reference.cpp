// expect: shoal: a handler cannot take a non-const reference
// lines: <= 20
#include <shoal/shoal.hpp>

void make(shoal::World& world) {
  auto message = world.make_am([](int /*a*/, std::vector<int>& /*b*/) {});
  message.send(shoal::Rank(0), 1, std::vector<int>());
}
