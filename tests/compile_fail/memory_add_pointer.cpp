// expect: shoal: only integers and floating-point numbers are added
// lines: <= 12
#include <shoal/memory.hpp>

void advance(shoal::GlobalMemory& memory, shoal::GlobalPtr<int*> place) {
  memory.fetch_add(place, nullptr);
}
