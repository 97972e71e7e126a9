#include "env/unbind.hpp"

#include <sched.h>

#include <array>
#include <cstring>

namespace shoal::env {

void unbind_current_thread() {
  std::array<cpu_set_t, 8> all{};  // 8192 processors
  std::memset(all.data(), 0xff, sizeof all);
  static_cast<void>(sched_setaffinity(0, sizeof all, all.data()));
}

}  // namespace shoal::env
