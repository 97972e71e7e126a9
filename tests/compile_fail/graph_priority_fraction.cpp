// expect: shoal: set_priority\(\) takes a function int\(const K&\) of the graph's key: round or scale
// lines: <= 12
#include <shoal/shoal.hpp>

void make(shoal::World& world) {
  shoal::TaskGraph<int> graph(world);
  graph.set_priority([](int key) { return 1.0 / key; });
}
