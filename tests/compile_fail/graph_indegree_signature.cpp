// expect: shoal: set_indegree\(\) takes a function int\(const K&\)
// lines: <= 12
#include <shoal/shoal.hpp>

void make(shoal::World& world) {
  shoal::TaskGraph<int> graph(world);
  graph.set_indegree([](int /*row*/, int /*column*/) { return 1; });
}
