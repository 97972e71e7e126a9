#include "runtime/simulated_run.hpp"

#include "env/host.hpp"
#include "runtime/end_report.hpp"
#include "runtime/simulated_world.hpp"

namespace shoal::runtime {

namespace {

int run_and_report(SimulatedWorld& world, const MainFunction& main_function) {
  world.run(main_function);
  const int exit_code = report_errors(world.ranks());
  for (const std::string& line : world.summary()) say(line);
  return exit_code;
}

}  // namespace

int run_simulated(const Config& config, const MainFunction& main_function) {
  if (!config.sim_check) {
    SimulatedWorld world(config);
    return run_and_report(world, main_function);
  }
  sim::Recording recording;
  env::run_in_silent_child([&] {
    SimulatedWorld world(config);
    world.trace().record_into(recording);
    try {
      world.run(main_function);
    } catch (...) {  // the second run ends in the same way
    }
    recording.flush();
  });
  recording.rewind();
  SimulatedWorld world(config);
  world.trace().compare_with(recording);
  return run_and_report(world, main_function);
}

}  // namespace shoal::runtime
