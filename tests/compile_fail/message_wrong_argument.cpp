// expect: shoal: an argument does not convert to the handler's parameter
// lines: <= 16
#include <shoal/shoal.hpp>

void make(shoal::World& world) {
  auto message = world.make_am([](const std::string& /*text*/) {});
  message.send(shoal::Rank(0), std::vector<int>());
}
