#pragma once
// The kernels about loops, their options, and what is reported of them. A side is a class with
// static functions: name(), forms(), start(workers, body), and loop(), sum() and sort() below.

#include "cli/command_line.hpp"

#include "common/result.hpp"
#include "common/stopwatch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench::loops {

/// A dependent multiplication and addition for each step, about 1 ns. No compiler joins steps.
inline std::uint32_t work(std::uint32_t value, std::uint32_t steps) {
  for (; steps != 0; --steps) {
    value = value * 1'664'525U + 1'013'904'223U;
    __asm__("" : "+r"(value));
  }
  return value;
}

/// Iterations that are alike, and may be vectorized.
struct Alike {
  const float* in;
  float* out;
  void operator()(std::int64_t i) const { out[i] = 1.5F * in[i] + 0.25F; }
};

/// Iterations of so many steps each.
struct Steps {
  const std::uint32_t* steps;
  std::uint32_t* out;
  void operator()(std::int64_t i) const { out[i] = work(static_cast<std::uint32_t>(i), steps[i]); }
};

/// Number of steps of each iteration; `mean` on average.
inline std::vector<std::uint32_t> steps_of(const std::string& shape, std::size_t count,
                                           double mean) {
  std::vector<std::uint32_t> steps(count, static_cast<std::uint32_t>(std::lround(mean)));
  std::mt19937 random(1);
  std::exponential_distribution<double> costs(1 / mean);
  for (std::size_t i = 0; i < count; ++i) {
    if (shape == "triangular") {
      steps[i] = static_cast<std::uint32_t>(2 * mean * static_cast<double>(i) /
                                            static_cast<double>(count));
    }
    if (shape == "random") steps[i] = static_cast<std::uint32_t>(costs(random));
  }
  return steps;
}

template <class Side>
class Program {
 public:
  Program() : app_("One timed run of one kernel about loops", "") {
    app_.take_last();
    app_.require_subcommand();
    cli::App& loop = add_kernel("loop", "Iterations of a loop", [this] { return run_loop(); });
    loop.add_option("--body-ns", body_ns_, "Duration of an iteration, on average");
    loop.add_option("--shape", shape_, "Durations: all alike, growing, or at random")
        ->check(cli::one_of({"uniform", "triangular", "random"}));
    add_kernel("sum", "A reduction", [this] { return run_sum(); });
    add_kernel("sort", "Sorting of numbers", [this] { return run_sort(); });
  }

  int main(int argc, char** argv) {
    form_ = Side::forms().front();
    if (const auto code = app_.parse(argc, argv)) return *code;
    return report(result_, [this] {
      Side::start(workers_, [this] {
        const double one = median_of(repeat_, run_);
        result_.config = {{"count", count_},
                          {"body_ns", body_ns_},
                          {"shape", shape_},
                          {"workers", std::int64_t{workers_}},
                          {"form", form_}};
        result_.values = {{"seconds", one},
                          {"ns_per_iteration", one * 1e9 / static_cast<double>(count_)}};
      });
    });
  }

 private:
  cli::App& add_kernel(const std::string& name, const std::string& help,
                       std::function<double()> run) {
    cli::App& kernel = app_.add_subcommand(name, help);
    kernel.add_option("--count", count_, "Iterations, or elements")->check(cli::positive_number());
    kernel.add_option("--workers", workers_, "Threads")->check(cli::range(1, 64));
    kernel.add_option("--repeat", repeat_, "Timed runs, of which the median is printed")
        ->check(cli::positive_number());
    kernel.add_option("--form", form_, "Form of the program for this side")
        ->check(cli::one_of(Side::forms()));
    kernel.callback([this, name, run = std::move(run)] {
      result_.kernel = name;
      result_.side = Side::name();
      run_ = run;
    });
    return kernel;
  }
  static void check(bool good) {
    if (!good) throw std::runtime_error("the result is wrong");
  }

  double run_loop() {
    const auto size = static_cast<std::size_t>(count_);
    if (shape_ == "uniform" && body_ns_ <= 1) {
      const std::vector<float> in(size, 2);
      std::vector<float> out(size);
      const Alike body{in.data(), out.data()};
      const double seconds = time_of([&] { Side::loop(form_, count_, body); });
      for (const float value : out) check(value == 3.25F);
      return seconds;
    }
    if (steps_.empty()) steps_ = steps_of(shape_, size, std::max(body_ns_, 1.0));
    std::vector<std::uint32_t> out(size);
    const Steps body{steps_.data(), out.data()};
    const double seconds = time_of([&] { Side::loop(form_, count_, body); });
    for (std::size_t i = 0; i < size; i += 1 + size / 1000) {
      check(out[i] == work(static_cast<std::uint32_t>(i), steps_[i]));
    }
    return seconds;
  }

  double run_sum() {
    std::vector<double> values(static_cast<std::size_t>(count_), 0.5);
    double sum = 0;
    const double seconds = time_of([&] { sum = Side::sum(form_, values); });
    check(sum == 0.5 * static_cast<double>(count_));
    return seconds;
  }

  double run_sort() {
    std::vector<std::uint32_t> values(static_cast<std::size_t>(count_));
    std::mt19937 random(1);
    for (std::uint32_t& value : values) value = static_cast<std::uint32_t>(random());
    const double seconds = time_of([&] { Side::sort(form_, values); });
    check(std::is_sorted(values.begin(), values.end()));
    return seconds;
  }

  template <class F>
  static double time_of(F&& f) {
    const Stopwatch watch;
    f();
    return watch.seconds();
  }

  cli::App app_;
  Result result_;
  std::function<double()> run_;
  std::string form_;
  std::string shape_ = "uniform";
  std::int64_t count_ = 1'000'000;
  double body_ns_ = 1;
  int workers_ = 1;
  int repeat_ = 5;
  std::vector<std::uint32_t> steps_;
};

}  // namespace bench::loops
