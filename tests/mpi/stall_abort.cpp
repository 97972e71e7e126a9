// Ends of --stall-abort, started by shoal_add_kill_tests(). The argument: the process that stops
// for ever while the others wait for it, or "busy": the last one is in long tasks, one after the
// other, and is the only one that moves.

#include <shoal/shoal.hpp>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    const std::string role(world.args()[1]);
    if (role != "busy") {
      if (world.rank() == std::stoi(role)) static_cast<void>(std::raise(SIGSTOP));
    } else if (world.rank() == world.size() - 1) {
      // Longer than a report waits for answers, shorter than what ends the run.
      for (int i = 0; i < 3; ++i) {
        world.spawn([] { std::this_thread::sleep_for(std::chrono::seconds(4)); }, {.name = "long"});
      }
    }
    world.wait();
  });
}
