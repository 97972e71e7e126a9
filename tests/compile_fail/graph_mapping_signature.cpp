// expect: shoal: set_mapping\(\) takes a function int\(const K&\)
// lines: <= 12
#include <shoal/shoal.hpp>

#include <array>
#include <string>

void make(shoal::World& world) {
  shoal::TaskGraph<std::array<int, 2>> graph(world);
  graph.set_mapping([](const std::array<int, 2>& /*key*/) { return std::string("worker 1"); });
}
