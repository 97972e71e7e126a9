// expect: shoal: a DistributedArray keeps its elements, and a view owns none
// lines: <= 12
#include <shoal/object.hpp>

#include <string_view>

void make(shoal::World& world) { shoal::DistributedArray<std::string_view> array(world, 3); }
