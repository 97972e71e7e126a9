// expect: shoal: set_task\(\) takes a function void\(const K&, V0, V1, ...\)
// lines: <= 12
#include <shoal/shoal.hpp>

#include <vector>

void make(shoal::World& world) {
  shoal::TaskGraph<int> graph(world);
  graph.set_task([](int /*key*/, std::vector<double>& /*changed*/) {});
}
