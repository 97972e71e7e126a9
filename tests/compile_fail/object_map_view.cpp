// expect: shoal: a distributed_map keeps its entries, and a view owns none
// lines: <= 12
#include <shoal/object.hpp>

#include <string_view>

void make(shoal::World& world) { shoal::distributed_map<int, std::string_view> map(world); }
