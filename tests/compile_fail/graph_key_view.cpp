// expect: shoal: a graph keeps its keys, and a view owns none
// lines: <= 12
#include <shoal/shoal.hpp>

#include <string_view>
#include <utility>

void make(shoal::World& world) { shoal::TaskGraph<std::pair<int, std::string_view>> graph(world); }
