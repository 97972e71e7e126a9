#pragma once
// The kernels about workers that a thread of the program owns and gives work to, their options, and
// what is reported of them. A side is a class with a static function name(), a constructor with a
// number of workers, which starts them, a destructor that waits for all work and ends them, and
// ask() and give() below.

#include "cli/command_line.hpp"

#include "common/result.hpp"
#include "common/stopwatch.hpp"

#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

namespace bench::runtime {

template <class Side>
class Program {
 public:
  Program() : app_("One timed run of one kernel about workers of a program", "") {
    app_.take_last();
    app_.require_subcommand();
    add_kernel("start_stop", "Starts the workers, has one task run, and ends them",
               [this] { return start_stop(); });
    add_kernel("ask", "Gives a task and waits for its result, one at a time",
               [this] { return ask(); });
    add_kernel("give", "Gives tasks of which nobody asks the result, and waits for all",
               [this] { return give(); });
    add_kernel("idle", "Processor time while there is no work, for that many seconds",
               [this] { return idle(); });
  }

  int main(int argc, char** argv) {
    if (const auto code = app_.parse(argc, argv)) return *code;
    return report(result_, [this] {
      const double one = median_of(repeat_, run_);
      result_.config = {{"count", count_}, {"workers", std::int64_t{workers_}}};
      result_.values = {{"seconds", one}, {"each_ns", one * 1e9 / static_cast<double>(count_)}};
      if (sleeps_ >= 0) result_.values.emplace_back("sleeps", sleeps_);
    });
  }

 private:
  void add_kernel(const std::string& name, const std::string& help, std::function<double()> run) {
    cli::App& kernel = app_.add_subcommand(name, help);
    kernel.add_option("--count", count_, "Starts, tasks, seconds")->check(cli::positive_number());
    kernel.add_option("--workers", workers_, "Threads")->check(cli::range(1, 64));
    kernel.add_option("--repeat", repeat_, "Timed runs, of which the median is printed")
        ->check(cli::positive_number());
    kernel.callback([this, name, run = std::move(run)] {
      result_.kernel = name;
      result_.side = Side::name();
      run_ = run;
    });
  }
  static void check(bool good) {
    if (!good) throw std::runtime_error("the result is wrong");
  }

  double start_stop() {
    const Stopwatch watch;
    for (std::int64_t i = 0; i < count_; ++i) {
      Side side(workers_);
      check(side.ask([i] { return i; }) == i);
    }
    return watch.seconds();
  }
  double ask() {
    Side side(workers_);
    check(side.ask([] { return std::int64_t{1}; }) == 1);
    const Stopwatch watch;
    for (std::int64_t i = 0; i < count_; ++i) check(side.ask([i] { return i; }) == i);
    return watch.seconds();
  }
  double give() {
    std::atomic<std::int64_t> done{0};
    const Stopwatch watch;
    {
      Side side(workers_);
      for (std::int64_t i = 0; i < count_; ++i) {
        // relaxed: the end of the side orders them
        side.give([&done] { done.fetch_add(1, std::memory_order_relaxed); });
      }
    }
    const double seconds = watch.seconds();
    check(done == count_);
    return seconds;
  }
  double idle() {
    Side side(workers_);
    check(side.ask([] { return std::int64_t{1}; }) == 1);
    std::this_thread::sleep_for(std::chrono::seconds(1));  // the workers fall asleep
    const double before = processor_seconds();
    const std::int64_t sleeps = sleeps_so_far();
    std::this_thread::sleep_for(std::chrono::seconds(count_));
    sleeps_ = sleeps_so_far() - sleeps;
    return processor_seconds() - before;
  }
  /// How often a thread of the process has gone to sleep: once for each wake-up.
  static std::int64_t sleeps_so_far() {
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    return use.ru_nvcsw;
  }
  /// Time that the process has had processors for.
  static double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }

  cli::App app_;
  Result result_;
  std::function<double()> run_;
  std::int64_t count_ = 1000;
  int workers_ = 1;
  int repeat_ = 5;
  std::int64_t sleeps_ = -1;  // while idle; negative: of another kernel
};

}  // namespace bench::runtime
