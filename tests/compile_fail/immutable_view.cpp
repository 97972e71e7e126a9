// expect: shoal: an Immutable keeps its value, and a view owns none
// lines: <= 12
#include <shoal/shoal.hpp>

#include <string_view>

void make() { static_cast<void>(shoal::make_immutable<std::string_view>("text")); }
