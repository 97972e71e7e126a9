#pragma once
// Programs of tests that are linked into one: `joined <program> [<argument>...]` runs one of them.

#include <map>
#include <string>

namespace shoal::testing {

using MainOfProgram = int (*)(int argc, char** argv);

inline std::map<std::string, MainOfProgram>& joined_programs() {
  static std::map<std::string, MainOfProgram> programs;
  return programs;
}

/// Registers a program, at the start.
struct JoinedProgram {
  JoinedProgram(const char* name, MainOfProgram main_function) {
    joined_programs().emplace(name, main_function);
  }
};

}  // namespace shoal::testing
