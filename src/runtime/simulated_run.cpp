#include "runtime/simulated_run.hpp"

#include "env/host.hpp"
#include "runtime/end_report.hpp"
#include "runtime/kept_runs.hpp"
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

int run_simulated(const std::shared_ptr<const Config>& shared, const MainFunction& main_function) {
  const Config& config = *shared;
  for (const std::string& text : config.warnings) say(text);
  const auto run_here = [&](const std::shared_ptr<SimulatedWorld>& world) {
    const int exit_code = run_and_report(*world, config, main_function);
    if (world->end_run()) {
      keep_run(shared);
      keep_run(world);
    }
    return exit_code;
  };
  const auto world = [&config] { return std::make_shared<SimulatedWorld>(config); };
  if (!config.sim_check) return run_here(world());
  sim::Recording recording;
  env::run_in_silent_child([&] {
    SimulatedWorld first(config);
    first.trace().record_into(recording);
    try {
      first.run(main_function);
    } catch (...) {  // the second run ends in the same way
    }
    recording.flush();
  });
  recording.rewind();
  const std::shared_ptr<SimulatedWorld> second = world();
  second->trace().compare_with(recording);
  return run_here(second);
}

}  // namespace shoal::runtime
