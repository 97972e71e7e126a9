// A random program for shoal-explore: what it does follows from --sim-seed, too. It knows what
// wait() may do, and ends with an error when shoal does something else.
//
//   random_program --sim --sim-seed N [--fails | --gets-stuck] [options of shoal]

#include "support/random_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace {

using shoal::testing::Fate;
using shoal::testing::RandomProgram;
using shoal::testing::run_random;

std::uint64_t seed_of(std::span<char*> arguments) {
  const auto option = std::ranges::find(arguments, std::string_view("--sim-seed"));
  return arguments.end() - option > 1 ? std::stoull(*(option + 1)) : 1;
}

Fate fate_of(std::span<char*> arguments) {
  const auto given = [&](std::string_view option) {
    return std::ranges::find(arguments, option) != arguments.end();
  };
  if (given("--fails")) return Fate::fails;
  return given("--gets-stuck") ? Fate::gets_stuck : Fate::good;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  RandomProgram program(seed_of(arguments), fate_of(arguments));
  int code = shoal::run(argc, argv, [&program](shoal::World& world) {
    if (world.launch() != shoal::Launch::simulated) {
      throw shoal::ConfigError("random_program shares data between ranks: run it with --sim");
    }
    try {
      run_random(program, world);
    } catch (const shoal::TaskError&) {
      if (program.failures == 0) throw;  // else it is what the program wanted
    }
  });
  for (const std::string& mistake : program.mistakes) {
    fmt::print(stderr, "error: {}\n", mistake);
    code = 1;
  }
  return code;
}
