// expect: shoal: outputs keep their values, and a view owns none
// lines: <= 12
#include <shoal/shoal.hpp>

#include <string_view>

void make(shoal::World& world) { shoal::Outputs<int, std::string_view> names(world); }
