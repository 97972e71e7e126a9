// expect: shoal: the parameter of the function is smaller than the key of the graph
// lines: <= 12
#include <shoal/shoal.hpp>

#include <cstdint>

void make(shoal::World& world) {
  shoal::TaskGraph<std::int64_t> graph(world);
  graph.set_task([](int /*key*/) {});
}
