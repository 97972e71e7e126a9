// One call of BLAS or LAPACK on one thread: the rate that tasks cannot exceed. Several copies at
// once, each on a thread of its own, show what the cores can do together.

#include <cblas.h>
#include <lapacke.h>

#include <barrier>
#include <cstddef>
#include <thread>
#include <vector>
#include "cli/command_line.hpp"

#include "common/stopwatch.hpp"
#include "linalg/problem.hpp"

namespace {

using linalg::Block;
using linalg::Matrix;
using linalg::Options;

class Whole {
 public:
  explicit Whole(const Options& options)
      : options_(options), size_(options.size), answer_(count()) {
    if (is_cholesky(options)) return;
    first_ = filled(Matrix::first);
    second_ = filled(Matrix::second);
  }

  void start() {
    if (is_cholesky(options_)) fill(options_, Matrix::spd, block(answer_));
  }

  void run() {
    if (is_cholesky(options_)) {
      // A matrix that is not positive definite gives a wrong answer.
      static_cast<void>(LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', size_, answer_.data(), size_));
    } else {
      cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, size_, size_, size_, 1.0,
                  first_.data(), size_, second_.data(), size_, 0.0, answer_.data(), size_);
    }
  }

  [[nodiscard]] bool is_right() {
    const auto visit = [this](const auto& see) { see(block(answer_)); };
    return linalg::is_right(options_, visit, [](std::vector<double>&) {});
  }

 private:
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(size_) * static_cast<std::size_t>(size_);
  }
  [[nodiscard]] Block block(std::vector<double>& values) const {
    return {0, 0, size_, size_, values.data(), size_};
  }
  [[nodiscard]] std::vector<double> filled(Matrix matrix) const {
    std::vector<double> values(count());
    fill(options_, matrix, block(values));
    return values;
  }

  const Options& options_;
  const int size_;
  std::vector<double> answer_;
  std::vector<double> first_;
  std::vector<double> second_;
};

bench::Sample measure(const Options& options, int copies) {
  std::vector<bench::Sample> samples(static_cast<std::size_t>(copies));
  std::barrier together(copies);
  const auto measure_one = [&](bench::Sample& sample) {
    Whole whole(options);
    std::vector<bench::Sample> runs;
    for (int run = 0; run < options.run.repeat; ++run) {
      whole.start();
      together.arrive_and_wait();
      const bench::Stopwatch watch;
      whole.run();
      together.arrive_and_wait();
      runs.push_back({watch.seconds(), true});
    }
    sample = {bench::median(runs).seconds, whole.is_right()};
  };
  {
    std::vector<std::jthread> threads;
    for (bench::Sample& sample : samples) threads.emplace_back([&] { measure_one(sample); });
  }
  return bench::median(samples);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  int copies = 1;
  const auto add_options = [&](cli::App& app) {
    linalg::add_options(app, options);
    app.add_option("--copies", copies, "How many at once")->check(cli::range(1, 256));
  };
  const auto body = [&] {
    bench::limit_time(options.run);
    linalg::use_one_blas_thread();
    return linalg::finish(options, "blas", measure(options, copies), {{"copies", copies}}, copies);
  };
  return bench::run_program({"linalg_blas", "One call of BLAS on one thread.", add_options, body},
                            {argv + 1, argv + argc}, true);
}
