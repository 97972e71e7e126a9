// The options of the kernels, and what is reported of them.

#include <fmt/format.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include "cli/command_line.hpp"

#include "common/resident.hpp"
#include "common/result.hpp"
#include "common/stopwatch.hpp"
#include "tasks/side.hpp"

namespace bench::tasks {
namespace {

// One kernel of one side: its options, and how it is run and reported.
class Program {
 public:
  explicit Program(Side& side) : side_(side), app_("One timed run of one kernel about tasks", "") {
    app_.take_last();
    app_.require_subcommand();
    add_flood();
    add_grid();
    add_fib();
    add_queens();
    add_switching();
    add_round_trips();
    add_hand_over();
  }

  int main(int argc, char** argv) {
    side_.form = side_.forms().front();
    if (const auto code = app_.parse(argc, argv)) return *code;
    return bench::report(result_, [this] { side_.start(side_.workers, run_); });
  }

 private:
  cli::App& add_kernel(const std::string& name, const std::string& help,
                       std::function<void()> run) {
    cli::App& kernel = app_.add_subcommand(name, help);
    kernel.add_option("--workers", side_.workers, "Threads that run tasks")
        ->check(cli::range(1, 64));
    kernel.add_option("--repeat", repeat_, "Timed runs, of which the median is printed")
        ->check(cli::positive_number());
    kernel.add_option("--form", side_.form, "Form of the program for this runtime system")
        ->check(cli::one_of(side_.forms()));
    kernel.callback([this, name, run = std::move(run)] {
      result_.kernel = name;
      result_.side = side_.name();
      run_ = run;
    });
    return kernel;
  }

  static void add_count(cli::App& kernel, const std::string& name, int& count,
                        const std::string& help) {
    kernel.add_option(name, count, help)->check(cli::positive_number());
  }

  void add_flood() {
    cli::App& kernel = add_kernel("flood", "Independent tasks made by the main function", [this] {
      result_.config = {
          {"tasks", flood_.tasks}, {"body_us", flood_.body_us}, {"ready", flood_.ready}};
      const double seconds = time([this] { return side_.flood(flood_); });
      flood_.check(repeat_);
      report_tasks(seconds, static_cast<double>(flood_.tasks), flood_.body_us);
    });
    kernel.add_option("--tasks", flood_.tasks, "Number of tasks")->check(cli::positive_number());
    kernel.add_option("--body-us", flood_.body_us, "Duration of each task");
    kernel.add_flag("--ready", flood_.ready, "Make all tasks before the clock starts");
  }

  void add_grid() {
    cli::App& kernel = add_kernel("grid", "Columns of tasks that depend on the one before", [this] {
      result_.config = {{"rows", grid_.rows},
                        {"columns", grid_.columns},
                        {"dependencies", grid_.dependencies},
                        {"body_us", grid_.body_us}};
      if (grid_.dependencies > grid_.rows) throw std::runtime_error("more dependencies than rows");
      const double seconds = time([this] {
        grid_.start();
        const double one = side_.grid(grid_);
        grid_.check();
        return one;
      });
      report_tasks(seconds, static_cast<double>(grid_.rows) * grid_.columns, grid_.body_us);
    });
    add_count(kernel, "--rows", grid_.rows, "Tasks of a column");
    add_count(kernel, "--columns", grid_.columns, "Number of columns");
    add_count(kernel, "--dependencies", grid_.dependencies, "Tasks that each one depends on");
    kernel.add_option("--body-us", grid_.body_us, "Duration of each task");
    kernel.add_flag("--every-edge", grid_.every_edge, "Check every dependency, in the tasks");
  }

  void add_fib() {
    cli::App& kernel = add_kernel("fib", "Fibonacci numbers, a task for each addition", [this] {
      result_.config = {{"n", fib_.n}};
      const double seconds = time([this] {
        const Stopwatch watch;
        const std::uint64_t answer = side_.fib(fib_);
        const double one = watch.seconds();
        fib_.check(answer);
        return one;
      });
      report(seconds, "ns_per_spawn", static_cast<double>(fib_.spawns()));
    });
    kernel.add_option("--n", fib_.n, "Which number")->check(cli::range(2, 50));
  }

  void add_queens() {
    cli::App& kernel = add_kernel("queens", "Queens on a board, a task for each place", [this] {
      result_.config = {{"n", queens_.n}};
      const double seconds = time([this] {
        const Stopwatch watch;
        const std::uint64_t answer = side_.queens(queens_);
        const double one = watch.seconds();
        queens_.check(answer);
        return one;
      });
      report(seconds, "ns_per_spawn", static_cast<double>(queens_.spawns()));
    });
    kernel.add_option("--n", queens_.n, "Size of the board")
        ->check(cli::range(1, Queens::kSizeMax));
  }

  void add_switching() {
    cli::App& kernel = add_kernel("switch", "Tasks that take turns", [this] {
      result_.config = {{"tasks", switching_.tasks}, {"rounds", switching_.rounds}};
      const double seconds = time([this] { return side_.switching(switching_); });
      switching_.check(repeat_);
      report(seconds, "ns_per_switch", static_cast<double>(switching_.tasks) * switching_.rounds);
    });
    add_count(kernel, "--tasks", switching_.tasks, "Number of tasks");
    add_count(kernel, "--rounds", switching_.rounds, "How often each lets the others run");
  }

  void add_round_trips() {
    cli::App& kernel = add_kernel("future", "A task is started and waited for", [this] {
      result_.config = {{"rounds", trips_.rounds}};
      const double seconds = time([this] {
        std::uint64_t sum = 0;
        const double one = side_.round_trips(trips_, sum);
        trips_.check(sum);
        return one;
      });
      report(seconds, "ns_per_round_trip", trips_.rounds);
    });
    add_count(kernel, "--rounds", trips_.rounds, "Number of tasks, one after the other");
  }

  void add_hand_over() {
    cli::App& kernel = add_kernel("lock", "Tasks that hand a lock to each other", [this] {
      result_.config = {{"tasks", hand_over_.tasks}, {"rounds", hand_over_.rounds}};
      const double seconds = time([this] { return side_.hand_over(hand_over_); });
      hand_over_.check(repeat_);
      report(seconds, "ns_per_hand_over",
             static_cast<double>(hand_over_.tasks) * hand_over_.rounds);
    });
    add_count(kernel, "--tasks", hand_over_.tasks, "Number of tasks");
    add_count(kernel, "--rounds", hand_over_.rounds, "How often each takes the lock");
  }

  [[nodiscard]] double time(const std::function<double()>& run) const {
    return median_of(repeat_, run);
  }

  // Time of all workers, for each of `count` operations.
  void report(double seconds, const char* value, double count) {
    result_.values = {{value, seconds * 1e9 * side_.workers / count}, {"seconds", seconds}};
    result_.config.emplace_back("workers", side_.workers);
    result_.config.emplace_back("repeat", repeat_);
    result_.config.emplace_back("form", side_.form);
  }

  void report_tasks(double seconds, double tasks, double body_us) {
    report(seconds, "ns_per_task", tasks);
    result_.values.emplace_back("peak_mib", static_cast<double>(peak_bytes()) / (1024 * 1024));
    if (body_us > 0) {
      const double efficiency = tasks * body_us * 1e-6 / (seconds * side_.workers);
      result_.values.emplace_back("efficiency", efficiency);
    }
  }

  Side& side_;
  cli::App app_;
  std::function<void()> run_;
  Result result_;
  int repeat_ = 1;

  Flood flood_;
  Grid grid_;
  Fib fib_;
  Queens queens_;
  Switching switching_;
  RoundTrips trips_;
  HandOver hand_over_;
};

}  // namespace

void refuse(const Side& side, const std::string& what) {
  throw std::runtime_error(
      fmt::format("no {} with {} workers in this form ({})", what, side.workers, side.form));
}

double Side::flood(Flood& /*flood*/) { refuse(*this, "flood"); }
double Side::grid(Grid& /*grid*/) { refuse(*this, "grid"); }
std::uint64_t Side::fib(const Fib& /*fib*/) { refuse(*this, "fib"); }
std::uint64_t Side::queens(const Queens& /*queens*/) { refuse(*this, "queens"); }
double Side::switching(Switching& /*switching*/) { refuse(*this, "switch"); }
double Side::round_trips(const RoundTrips& /*trips*/, std::uint64_t& /*sum*/) {
  refuse(*this, "future");
}
double Side::hand_over(HandOver& /*hand_over*/) { refuse(*this, "lock"); }

int run_program(int argc, char** argv, Side& side) { return Program(side).main(argc, argv); }

}  // namespace bench::tasks
