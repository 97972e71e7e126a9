// expect: shoal: a DistributedMap keeps its entries, and a view owns none
// lines: <= 12
#include <shoal/object.hpp>

#include <string_view>

void make(shoal::World& world) { shoal::DistributedMap<int, std::string_view> map(world); }
