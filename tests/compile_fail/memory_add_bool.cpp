// expect: shoal: only integers and floating-point numbers are added
// lines: <= 12
#include <shoal/memory.hpp>

void raise(shoal::GlobalMemory& memory, shoal::GlobalPtr<bool> flag) {
  memory.fetch_add(flag, true);
}
