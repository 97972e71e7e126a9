// expect: shoal: set_binding\(\) takes a function bool\(const K&\)
// lines: <= 12
#include <shoal/shoal.hpp>

void make(shoal::World& world) {
  shoal::TaskGraph<int> graph(world);
  graph.set_binding([](int key) { return 0.5 * key; });
}
