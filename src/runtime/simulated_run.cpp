#include "runtime/simulated_run.hpp"

#include "env/host.hpp"
#include "runtime/end_report.hpp"
#include "runtime/simulated_world.hpp"

namespace shoal::runtime {

namespace {

int run_and_report(SimulatedWorld& world, const Config& config, const MainFunction& main_function) {
  const auto write_log = [&] {
    if (config.sim_log == 0) return;
    for (const std::string& line : world.log_lines()) say(line);
  };
  if (config.sim_log > 0) {
    world.keep_log(static_cast<std::size_t>(config.sim_log), config.sim_log_detection);
  }
  try {
    world.run(main_function);
  } catch (...) {
    write_log();
    world.finish_tracing();
    throw;
  }
  world.finish_tracing();
  const int exit_code = report_errors(world.ranks()).exit_code;
  write_log();
  for (const std::string& line : world.summary()) say(line);
  return exit_code;
}

}  // namespace

int run_simulated(const Config& config, const MainFunction& main_function) {
  for (const std::string& text : config.warnings) say(text);
  if (!config.sim_check) {
    SimulatedWorld world(config);
    return run_and_report(world, config, main_function);
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
  return run_and_report(world, config, main_function);
}

}  // namespace shoal::runtime
