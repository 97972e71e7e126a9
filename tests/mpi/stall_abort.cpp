// Ends of --stall-abort, started by shoal_add_kill_tests(). The argument: the process that stops
// for ever while the others wait for it; "busy": the last one is in long tasks, one after the
// other, and is the only one that moves; "exit": the first one stops for ever after the run.

#include <shoal/shoal.hpp>

#include "support/joined_program.hpp"

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

namespace stall_abort {

int program(int argc, char** argv) {
  bool stops_after = false;
  const int code = shoal::run(argc, argv, [&](shoal::World& world) {
    const std::string role(world.args()[1]);
    if (role == "exit") {
      stops_after = world.rank() == 0;
    } else if (role != "busy") {
      if (world.rank() == std::stoi(role)) static_cast<void>(std::raise(SIGSTOP));
    } else if (world.rank() == world.size() - 1) {
      // Longer than a report waits for answers, shorter than what ends the run.
      for (int i = 0; i < 3; ++i) {
        world.spawn([] { std::this_thread::sleep_for(std::chrono::seconds(4)); }, {.name = "long"});
      }
    }
    world.wait();
  });
  if (stops_after) static_cast<void>(std::raise(SIGSTOP));
  return code;
}

const shoal::testing::JoinedProgram kProgram("stall_abort", &program);

}  // namespace stall_abort
