// expect: shoal: a view in global memory refers to memory of one rank
// lines: <= 12
#include <shoal/memory.hpp>

#include <string_view>

void make(shoal::GlobalMemory& memory) { static_cast<void>(memory.allocate<std::string_view>()); }
