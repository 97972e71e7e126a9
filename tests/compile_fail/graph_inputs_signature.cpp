// expect: shoal: set_task\(\) takes a function void\(const K&, V0, V1, ...\)
// lines: <= 12
#include <shoal/shoal.hpp>

#include <array>

void make(shoal::World& world) {
  shoal::TaskGraph<std::array<int, 2>> graph(world);
  graph.set_task([](int /*key*/, double /*value*/) {});
}
