#include "env/thread_name.hpp"

#include <pthread.h>

namespace shoal::env {

void name_this_thread(const std::string& name) {
  constexpr std::size_t kLongest = 15;  // of Linux
  static_cast<void>(pthread_setname_np(pthread_self(), name.substr(0, kLongest).c_str()));
}

}  // namespace shoal::env
