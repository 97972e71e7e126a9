#include "contention/commands.hpp"

#include <shoal/contention/advice.hpp>
#include <shoal/error.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "cli/output.hpp"
#include "common/input_error.hpp"
#include "common/output_file.hpp"
#include "contention/figures.hpp"
#include "contention/measurements.hpp"
#include "contention/png.hpp"
#include "contention/report.hpp"
#include "contention/selection.hpp"
#include "contention/synthetic.hpp"

namespace contention {
namespace {

using apps::InputError;

constexpr int kMaxIndex = 1 << 16;

Model read_model(const std::string& path) {
  try {
    return shoal::contention::model_from_json(read_text(path));
  } catch (const shoal::ConfigError& error) {
    throw InputError(fmt::format("{}: {}", path, error.what()));
  }
}

void write_file(const std::string& path, const std::string& text) {
  apps::OutputFile file(path);
  file.write(text);
  if (!file.is_good()) throw InputError(fmt::format("{}: cannot write this file", path));
}

/// Values of all options of the commands.
struct Arguments {
  std::string model;
  std::string data;
  std::string output = "-";
  std::string figure = "placements";
  std::string kernel;
  std::string channel;
  std::uint64_t message_bytes = 0;
  double noise = 0;
  std::uint64_t seed = 1;
  shoal::contention::Phase phase;
  double share = 0.9;
  shoal::contention::Fixed fixed;
  bool json = false;

  [[nodiscard]] Selection selection() const {
    Selection result;
    if (!kernel.empty()) result.kernel = kernel_of(kernel);
    if (!channel.empty()) result.channel = channel_of(channel);
    if (message_bytes > 0) result.message_bytes = message_bytes;
    return result;
  }
};

void print_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) cli::tell(fmt::format("warning: {}\n", warning));
}

int run_calibrate(const Arguments& with) {
  const Measurements measurements = read_measurements(with.data);
  const Selection selection = resolve(measurements, with.selection());
  const Calibrated result = calibrate(measurements, selection, with.noise);
  print_warnings(result.warnings);
  write_file(with.output, to_json(result.model));
  if (!apps::is_standard_output(with.output)) {
    fmt::print("{}\n{}", parameters_text(result.model),
               errors_text(errors_of(result.model, measurements, selection)));
  }
  return 0;
}

int run_predict(const Arguments& with) {
  const Model model = read_model(with.model);
  if (with.data.empty()) {
    write_file(with.output, curves_csv(model, with.fixed));
    return 0;
  }
  const Measurements measurements = read_measurements(with.data);
  const Selection selection = resolve(measurements, with.selection());
  write_file(with.output, errors_text(errors_of(model, measurements, selection)));
  return 0;
}

int run_plot(const Arguments& with) {
  FigureInput input{nullptr, nullptr, with.selection()};
  Model model;
  Measurements measurements;
  if (!with.model.empty()) {
    model = read_model(with.model);
    input.model = &model;
  }
  if (!with.data.empty()) {
    measurements = read_measurements(with.data);
    input.measurements = &measurements;
  }
  const std::string svg = to_svg(make_figure(with.figure, input));
  if (with.output.ends_with(".png")) {
    write_png(svg, with.output);
  } else {
    write_file(with.output, svg);
  }
  return 0;
}

int run_advise(const Arguments& with) {
  const Model model = read_model(with.model);
  const bool has_phase = with.phase.computation_mb + with.phase.communication_mb > 0;
  if (with.json) {
    if (!has_phase) throw InputError("--json needs --computation-mb and --communication-mb");
    write_file(with.output, choice_json(advise(model, with.phase, with.fixed)));
    return 0;
  }
  std::string text = limits_text(model, with.share);
  if (has_phase) text += "\n" + phase_text(model, with.phase, with.fixed);
  write_file(with.output, text);
  return 0;
}

int run_synthesize(const Arguments& with) {
  const Measurements made = synthesize(read_model(with.model), {with.noise, with.seed});
  std::string text = header_text(made.machine, made.notes);
  for (const Sample& sample : made.samples) text += line_of(sample);
  write_file(with.output, text);
  return 0;
}

/// Adds options to the commands.
class Commands {
 public:
  Commands(cli::App& app, Command& chosen)
      : app_(app), chosen_(chosen), with_(std::make_shared<Arguments>()) {}

  void add_all() {
    add_calibrate();
    add_predict();
    add_plot();
    add_advise();
    add_synthesize();
  }

 private:
  cli::App& add(const std::string& name, const std::string& help, int (*run)(const Arguments&)) {
    cli::App& command = app_.add_subcommand(name, help);
    command.callback(
        [&chosen = chosen_, with = with_, run] { chosen = [with, run] { return run(*with); }; });
    return command;
  }

  void add_model(cli::App& command) {
    command.add_option("MODEL", with_->model, "JSON file that calibrate wrote")->required();
  }
  cli::Option* add_output(cli::App& command, const std::string& help) {
    return command.add_option("-o,--output", with_->output, help)
        ->option_text("FILE [-: standard output]");
  }
  void add_selection(cli::App& command) {
    command.add_option("--kernel", with_->kernel, "computation: fill, copy, triad, primes or poll")
        ->check(cli::one_of({"fill", "copy", "triad", "primes", "poll"}))
        ->option_text("WORD [fill; in charts of one setting triad or poll]");
    command
        .add_option("--channel", with_->channel,
                    "communication: MPI alone, or small or large messages of shoal")
        ->check(cli::one_of({"mpi", "small", "large"}))
        ->option_text("WORD [the first that was measured]");
    command.add_option("--message-bytes", with_->message_bytes, "size of the messages")
        ->option_text("N [the largest]");
  }
  void add_nodes(cli::App& command) {
    command
        .add_option("--computation-node", with_->fixed.computation_node,
                    "NUMA node of the data of computation")
        ->check(cli::range(0, kMaxIndex))
        ->option_text("N [all]");
    command
        .add_option("--communication-node", with_->fixed.communication_node,
                    "NUMA node of the buffers of communication")
        ->check(cli::range(0, kMaxIndex))
        ->option_text("N [all]");
  }
  void add_noise(cli::App& command, const std::string& help) {
    command.add_option("--noise", with_->noise, help)
        ->check(cli::range(0.0, 0.99))
        ->option_text("SHARE [0]");
  }

  void add_calibrate() {
    cli::App& command = add("calibrate", "Makes a model of measurements", run_calibrate);
    command.add_option("DATA", with_->data, "CSV file that measure wrote")->required();
    add_output(command, "model to write, as JSON")->required();
    add_selection(command);
    add_noise(command,
              "bandwidths that differ by less count as equal when the largest is searched");
  }
  void add_predict() {
    cli::App& command = add("predict", "Writes the curves of a model as CSV", run_predict);
    add_model(command);
    command
        .add_option("--data", with_->data,
                    "measurements: writes the errors of the model instead of its curves")
        ->option_text("FILE");
    add_selection(command);
    add_nodes(command);
    add_output(command, "file to write");
  }
  void add_plot() {
    cli::App& command = add("plot", "Draws measurements, a model or both as SVG or PNG", run_plot);
    command.add_option("--model", with_->model, "JSON file that calibrate wrote")
        ->option_text("FILE");
    command.add_option("--data", with_->data, "CSV file that measure wrote")->option_text("FILE");
    command
        .add_option("--figure", with_->figure, fmt::format("{}", fmt::join(figure_names(), ", ")))
        ->check(cli::one_of(figure_names()))
        ->option_text("NAME [placements]");
    add_selection(command);
    add_output(command, "figure to write")->required();
  }
  void add_advise() {
    cli::App& command =
        add("advise", "Says how many cores to compute with, and where to put data", run_advise);
    add_model(command);
    command
        .add_option("--computation-mb", with_->phase.computation_mb,
                    "memory traffic of the computation, in MB")
        ->check(cli::non_negative_number())
        ->option_text("X");
    command
        .add_option("--communication-mb", with_->phase.communication_mb,
                    "data received meanwhile, in MB")
        ->check(cli::non_negative_number())
        ->option_text("X");
    command
        .add_option("--share", with_->share,
                    "share of its bandwidth that the network keeps, 0 to 1")
        ->check(cli::range(0.0, 1.0))
        ->option_text("X [0.9]");
    add_nodes(command);
    command.add_option("--cores", with_->fixed.cores, "computing cores while data arrives")
        ->check(cli::range(0, kMaxIndex))
        ->option_text("N [the best]");
    command.add_flag("--json", with_->json, "The best choice for the phase, as JSON");
    add_output(command, "file to write");
  }
  void add_synthesize() {
    cli::App& command = add("synthesize", "Writes measurements of a machine that a model describes",
                            run_synthesize);
    add_model(command);
    add_noise(command, "largest relative error of a value");
    command.add_option("--seed", with_->seed, "seed of the errors")->option_text("N [1]");
    add_output(command, "measurements to write, as CSV");
  }

  cli::App& app_;
  Command& chosen_;
  std::shared_ptr<Arguments> with_;
};

}  // namespace

void add_commands(cli::App& app, Command& chosen) { Commands(app, chosen).add_all(); }

}  // namespace contention
