// A random program for shoal-explore: what it does follows from --sim-seed, too. It knows what
// wait() may do, and ends with an error when shoal does something else.
//
//   random_program --sim --sim-seed N [--fails | --gets-stuck] [options of shoal]

#include "support/random_program.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <span>
#include <string>

using shoal::testing::RandomProgram;

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  RandomProgram program(shoal::testing::seed_of(arguments), shoal::testing::fate_of(arguments));
  int code = shoal::run(argc, argv, [&program](shoal::World& world) {
    if (world.launch() != shoal::Launch::simulated) {
      throw shoal::ConfigError("random_program shares data between ranks: run it with --sim");
    }
    try {
      shoal::testing::run_random(program, world);
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
