// expect: shoal: a GlobalPtr to const is only read
// lines: <= 12
#include <shoal/memory.hpp>

void write(shoal::GlobalMemory& memory, shoal::GlobalPtr<const int> place) {
  static_cast<void>(memory.put(place, 1));
}
