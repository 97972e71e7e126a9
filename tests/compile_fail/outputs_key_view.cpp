// expect: shoal: outputs keep their keys, and a view owns none
// lines: <= 12
#include <shoal/shoal.hpp>

#include <string_view>

void make(shoal::World& world) { shoal::Outputs<std::string_view, int> outputs(world); }
