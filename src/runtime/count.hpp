#pragma once
// Numbers of things in texts.

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace shoal::runtime {

/// "3 tasks", "1 task", "2 processes".
template <class Number>
std::string count(Number number, std::string_view thing) {
  const std::string_view plural = thing.ends_with('s') ? "es" : "s";
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : plural);
}

}  // namespace shoal::runtime
