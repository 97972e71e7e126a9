// expect: shoal: only integers and floating-point numbers are added
// lines: <= 12
#include <shoal/memory.hpp>

struct alignas(8) Pair {
  int first;
  int second;
};

void add(shoal::GlobalMemory& memory, shoal::GlobalPtr<Pair> pair) {
  static_cast<void>(memory.add_async(pair, Pair{1, -1}));
}
