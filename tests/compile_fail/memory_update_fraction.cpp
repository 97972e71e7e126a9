// expect: shoal: the function of fetch_update\(\) returns a larger type of number
// lines: <= 12
#include <shoal/memory.hpp>

void halve(shoal::GlobalMemory& memory, shoal::GlobalPtr<int> word) {
  memory.fetch_update(word, [](int x) { return 0.5 * x; });
}
