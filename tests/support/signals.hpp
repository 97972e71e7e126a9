#pragma once
// Action of this process on a signal.

#include <csignal>

namespace shoal::testing {

inline void (*handler_of(int signal))(int) {
  struct sigaction now {};
  sigaction(signal, nullptr, &now);
  return now.sa_handler;
}

}  // namespace shoal::testing
