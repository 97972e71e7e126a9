// expect: shoal: only numbers and enums have a minimum and a maximum
// lines: <= 12
#include <shoal/memory.hpp>

struct alignas(8) Version {
  int major;
  int minor;
};

void lower(shoal::GlobalMemory& memory, shoal::GlobalPtr<Version> version) {
  memory.fetch_min(version, Version{1, 2});
}
