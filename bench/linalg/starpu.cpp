// StarPU in one process: sequential task flow.

#include <starpu.h>

#include <vector>
#include "cli/command_line.hpp"

#include "common/starpu.hpp"
#include "common/stopwatch.hpp"
#include "linalg/problem.hpp"
#include "linalg/starpu_flow.hpp"

namespace {

using bench::require;
using linalg::Options;

bench::Sample run_once(const Options& options, linalg::Codelets& codelets) {
  linalg::Problem problem(options, {});
  const bench::Stopwatch watch;
  insert_tasks(
      codelets, problem, [](starpu_codelet& codelet, int priority, auto... modes_and_handles) {
        require(starpu_task_insert(&codelet, STARPU_PRIORITY, priority, modes_and_handles..., 0),
                "starpu_task_insert()");
      });
  starpu_task_wait_for_all();
  const double seconds = watch.seconds();
  return {seconds, is_right(options, problem.answer.own_blocks(), [](std::vector<double>&) {})};
}

int run(const Options& options, int workers) {
  bench::limit_time(options.run);
  linalg::use_one_blas_thread();
  std::vector<bench::Sample> samples;
  {
    const bench::StarPuRun starpu(workers);
    linalg::Codelets codelets;
    for (int i = 0; i < options.run.repeat; ++i) samples.push_back(run_once(options, codelets));
  }
  return linalg::finish(options, "starpu", bench::median(samples), {{"workers", workers}});
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  int workers = 2;
  const auto add_options = [&](cli::App& app) {
    linalg::add_options(app, options);
    app.add_option("--workers", workers, "Threads that run tasks")->check(cli::range(1, 64));
  };
  return bench::run_program({"linalg_starpu", "Sequential task flow of StarPU in one process.",
                             add_options, [&] { return run(options, workers); }},
                            {argv + 1, argv + argc}, true);
}
