// One process of several gets no thread for its second worker: used by kill_rank.cmake.

#include <shoal/shoal.hpp>

#include "mpi/mpi_launch.hpp"
#include "support/joined_program.hpp"
#include "support/thread_limit.hpp"

#include <optional>
#include <string>
#include <vector>

namespace missing_thread {

int program(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return shoal::testing::report_with_mpi(argc, argv, [&] {
    std::optional<shoal::testing::ThreadLimit> limit;
    if (shoal::testing::process_of_launch() == 1) limit.emplace(1);  // for the watch
    const int code =
        shoal::testing::run_on_launch(arguments, [](shoal::World& world) { world.wait(); });
    limit.reset();
    shoal::testing::require(code == 0, "ended with {}", code);
  });
}

const shoal::testing::JoinedProgram kProgram("missing_thread", &program);

}  // namespace missing_thread
