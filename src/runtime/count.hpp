#pragma once
// Numbers of things in texts.

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace shoal::runtime {

/// "3 tasks", "1 task".
template <class Number>
std::string count(Number number, std::string_view thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

}  // namespace shoal::runtime
