#pragma once

// Programs of slips: each slip is a short function, as a user may have written it by mistake, and a
// run has one of them. tests/suites/slips_programs.py has the words that shoal must find for it.

#include <shoal/shoal.hpp>

#include <cstdio>
#include <exception>
#include <initializer_list>
#include <string_view>

struct Slip {
  std::string_view name;
  void (*main)(shoal::World& world);
  void (*after)() = nullptr;  // after run()
};

/// Runs the slip that the first argument names, and returns the exit code of the program.
inline int run_slip(int argc, char** argv, std::initializer_list<Slip> slips) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  for (const Slip& slip : slips) {
    if (slip.name != name) continue;
    const int code = shoal::run(argc, argv, slip.main);
    if (slip.after == nullptr) return code;
    try {
      slip.after();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "after run(): %s\n", error.what());
      return 1;
    }
    return code;
  }
  for (const Slip& slip : slips)
    std::fprintf(stderr, "%.*s\n", static_cast<int>(slip.name.size()), slip.name.data());
  return 2;
}
