#pragma once
// Checks of a world on any transport: used by the MPI tests of the runtime.

#include <shoal/shoal.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/run_world.hpp"

namespace shoal::testing {

template <class... Args>
void require(bool condition, fmt::format_string<Args...> text, Args&&... args) {
  if (!condition) throw std::runtime_error(fmt::format(text, std::forward<Args>(args)...));
}

/// Messages, tasks, large messages, a flood and collectives, on every rank.
void battery(World& world);

/// For main(): 0 if all of `steps` went well, else 1 and the text of what did not.
inline int report(const std::function<void()>& steps) {
  try {
    steps();
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "FAILED: {}\n", error.what());
    return 1;
  }
}

}  // namespace shoal::testing
