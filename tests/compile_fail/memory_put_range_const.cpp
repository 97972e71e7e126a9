// expect: shoal: a GlobalPtr to const is only read
// lines: <= 12
#include <shoal/memory.hpp>

#include <span>

void write(shoal::GlobalMemory& memory, shoal::GlobalPtr<const int> place) {
  const int values[]{1, 2};
  static_cast<void>(memory.put(place, std::span(values)));
}
