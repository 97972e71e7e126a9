// The options, the measurement of one side, and what is reported of it.

#include <algorithm>
#include <limits>
#include "cli/command_line.hpp"

#include "common/stopwatch.hpp"
#include "metg/search.hpp"
#include "metg/side.hpp"

namespace metg {

namespace {

// Duration of the tasks of the peak measurement; any overhead is small beside it.
constexpr double kPeakTaskUs = 500;
constexpr int kPeakSteps = 8;
constexpr double kLookUs = 50;
constexpr int kLooks = 100;
// Runs of one kind are repeated no longer than this.
constexpr double kEnoughSeconds = 0.1;

// Measurement of one side with one graph.
class Measurement {
 public:
  Measurement(Side& side, const Options& options, const Kernel& kernel)
      : side_(side), options_(options), kernel_(kernel) {}

  /// Microseconds that an iteration takes a core: the least that was seen. No task waits for
  /// another one here.
  double peak_us() {
    Shape shape = options_.shape;
    shape.pattern = Pattern::trivial;
    shape.steps = kPeakSteps;
    const Graph graph(shape);
    Work work(graph, kernel_);
    const double alone_us = side_.largest(alone());
    const auto iterations = static_cast<std::int64_t>(kPeakTaskUs / alone_us) + 1;
    const double together_us = fastest_us(work, iterations) / static_cast<double>(iterations);
    // Memory is slower when all cores use it.
    return options_.kernel == "memory" ? together_us : std::min(alone_us, together_us);
  }

  /// Wall time x cores / tasks of the fastest run: what disturbs a run only ever adds.
  double fastest_us(Work& work, std::int64_t iterations) {
    double fastest = std::numeric_limits<double>::max();
    double spent = 0;
    for (int i = 0; i < options_.run.repeat && spent < kEnoughSeconds; ++i) {
      const double seconds = run(work, iterations);
      fastest = std::min(fastest, seconds);
      spent += seconds;
    }
    return fastest * 1e6 * side_.cores() / static_cast<double>(work.graph().task_count());
  }

  [[nodiscard]] bool is_right() const { return right_; }

 private:
  double run(Work& work, std::int64_t iterations) {
    work.start(iterations);
    const double seconds = side_.run(work);
    const bool right =
        work.is_right(share_of(work.graph().width(), side_.rank_count(), side_.rank()));
    right_ = right_ && side_.largest(right ? 0 : 1) == 0;
    return seconds;
  }

  // Time of an iteration in the calling thread: the least of many samples, each of which is short,
  // so that some are not disturbed.
  double alone() {
    std::int64_t iterations = 1;
    while (look(iterations) < kLookUs) iterations *= 2;
    double fastest_us = look(iterations);
    for (int i = 0; i < kLooks; ++i) fastest_us = std::min(fastest_us, look(iterations));
    return fastest_us / static_cast<double>(iterations);
  }
  double look(std::int64_t iterations) {
    const bench::Stopwatch watch;
    right_ = kernel_.run(0, 0, iterations) && right_;
    return watch.seconds() * 1e6;
  }

  Side& side_;
  const Options& options_;
  const Kernel& kernel_;
  bool right_ = true;
};

// Printed values: METG, or the time of tasks of so many iterations.
bench::Values values_of(Measurement& measurement, Work& work, const Options& options) {
  if (options.iterations >= 0) {
    return {{"granularity_us", measurement.fastest_us(work, options.iterations)}};
  }
  const double peak_us = measurement.peak_us();
  const Metg metg = search(
      [&](std::int64_t iterations) { return measurement.fastest_us(work, iterations); }, peak_us);
  return {{"metg_us", metg.metg_us},
          {"overhead_us", metg.overhead_us},
          {"reached", metg.reached},
          {"iteration_ns", peak_us * 1e3}};
}

bench::Values config_of(const Side& side, const Options& options) {
  bench::Values config = side.config();
  const bench::Values told{{"pattern", options.pattern},   {"kernel", options.kernel},
                           {"steps", options.shape.steps}, {"width", options.shape.width},
                           {"radix", options.shape.radix}, {"form", options.form},
                           {"repeat", options.run.repeat}, {"cores", side.cores()},
                           {"ranks", side.rank_count()}};
  config.insert(config.end(), told.begin(), told.end());
  if (options.iterations >= 0) config.emplace_back("iterations", options.iterations);
  if (options.kernel == "memory") config.emplace_back("buffer_kib", options.buffer_kib);
  return config;
}

}  // namespace

void add_options(cli::App& app, Options& options, const std::vector<std::string>& forms) {
  add_run_options(app, options.run);
  options.run.repeat = 20;
  options.form = forms.front();
  app.add_option("pattern", options.pattern, "Pattern of dependencies")
      ->required()
      ->check(cli::one_of(pattern_names()));
  app.add_option("--kernel", options.kernel, "Work of the tasks")
      ->check(cli::one_of({"compute", "memory"}));
  app.add_option("--form", options.form, "Form of the program for this runtime system")
      ->check(cli::one_of(forms));
  app.add_option("--steps", options.shape.steps, "Steps of the graph")
      ->check(cli::range(1, 100000));
  app.add_option("--width", options.shape.width, "Columns of all ranks")->check(cli::range(1, 256));
  app.add_option("--radix", options.shape.radix, "Dependencies in nearest, spread and random")
      ->check(cli::range(1, 256));
  app.add_option("--seed", options.shape.seed, "Of random");
  app.add_option("--iterations", options.iterations,
                 "Iterations of each task; prints their granularity and does not search METG");
  app.add_option("--buffer", options.buffer_kib, "KiB that the tasks of a column read (memory)")
      ->check(cli::range(1, 1 << 20));
}

void add_workers_option(cli::App& app, Options& options) {
  app.add_option("--workers", options.workers, "Threads that run tasks")->check(cli::range(1, 64));
}

int measure(Side& side, const Options& options) {
  bench::limit_time(options.run);
  Options full = options;
  full.shape.pattern = pattern_of(options.pattern);
  const Kernel kernel(options.kernel == "memory" ? Kernel::Bound::memory : Kernel::Bound::compute,
                      full.shape.width, static_cast<std::size_t>(options.buffer_kib) * 1024);
  Measurement measurement(side, full, kernel);
  const Graph graph(full.shape);
  Work work(graph, kernel);
  const bench::Values values = values_of(measurement, work, full);
  if (side.rank() != 0) return measurement.is_right() ? 0 : 1;
  return bench::finish({"metg", side.name(), values, config_of(side, full)},
                       measurement.is_right());
}

}  // namespace metg
