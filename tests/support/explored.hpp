#pragma once
// Command lines of programs for shoal-explore.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace shoal::testing {

/// How a random program ends.
enum class Fate { good, fails, gets_stuck };

/// Seed of the random numbers of the program: follows --sim-seed.
inline std::uint64_t seed_of(std::span<char*> arguments) {
  const auto option = std::ranges::find(arguments, std::string_view("--sim-seed"));
  return arguments.end() - option > 1 ? std::stoull(*(option + 1)) : 1;
}

inline Fate fate_of(std::span<char*> arguments) {
  const auto given = [&](std::string_view option) {
    return std::ranges::find(arguments, option) != arguments.end();
  };
  if (given("--fails")) return Fate::fails;
  return given("--gets-stuck") ? Fate::gets_stuck : Fate::good;
}

}  // namespace shoal::testing
