#include "ranks/program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include "cli/command_line.hpp"

namespace bench {

Sample median(const std::vector<Sample>& samples) {
  std::vector<double> seconds;
  for (const Sample& sample : samples) seconds.push_back(sample.seconds);
  return {median(std::move(seconds)), std::ranges::all_of(samples, &Sample::verified)};
}

int finish(const Result& result, bool verified) {
  if (verified) {
    print(result);
    return 0;
  }
  fmt::print(stderr, "{} {}: the answer is wrong\n", result.side, result.kernel);
  return 1;
}

void add_run_options(cli::App& app, RunOptions& options) {
  app.take_last();
  app.set_help_flag("-h", "Print this text");
  app.add_option("--repeat", options.repeat, "Timed runs, of which the median is printed")
      ->check(cli::range(1, 1000));
  app.add_option("--time-limit", options.time_limit_s, "Seconds; then a signal ends the program")
      ->check(cli::range(1, 3600));
}

int run_program(const Program& program, std::vector<std::string> arguments, bool tells) {
  cli::App app(program.about, program.name);
  program.add_options(app);
  try {
    const auto code = app.parse(std::move(arguments), tells);
    return code ? *code : program.body();
  } catch (const std::invalid_argument& error) {
    if (tells) fmt::print(stderr, "{}: {}\n", app.name(), error.what());
  }
  return 2;
}

void limit_time(const RunOptions& options) { alarm(static_cast<unsigned>(options.time_limit_s)); }

}  // namespace bench
