// Main function of programs that are linked into one (joined_program.hpp).

#include "support/joined_program.hpp"

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  const auto& programs = shoal::testing::joined_programs();
  const auto found = programs.find(argc > 1 ? argv[1] : "");
  if (found != programs.end()) return found->second(argc - 1, argv + 1);
  std::fprintf(stderr, "usage: %s <program> [<argument>...]; the programs:\n", argv[0]);
  for (const auto& [name, main_function] : programs) std::fprintf(stderr, "  %s\n", name.c_str());
  return 2;
}
