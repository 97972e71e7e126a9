// StarPU over MPI: every rank inserts all tasks, and runs those that write its own tiles.

#include <starpu_mpi.h>

#include <cstdlib>
#include <vector>
#include "cli/command_line.hpp"

#include "common/starpu.hpp"
#include "common/stopwatch.hpp"
#include "linalg/mpi_parts.hpp"
#include "linalg/problem.hpp"
#include "linalg/starpu_flow.hpp"

namespace {

using bench::require;
using linalg::Options;
using linalg::TileData;

class Side {
 public:
  Side(const Options& options, const TileData::Place& place) : options_(options), place_(place) {}

  bench::Sample run_once() {
    linalg::Problem problem(options_, place_);
    next_tag_ = 0;
    give_tags(problem.answer);
    if (problem.a) give_tags(*problem.a);
    if (problem.b) give_tags(*problem.b);
    if (problem.factors) give_tags(*problem.factors);
    if (problem.diagonal) give_tags(*problem.diagonal);
    MPI_Barrier(MPI_COMM_WORLD);
    const bench::Stopwatch watch;
    insert_tasks(codelets_, problem,
                 [](starpu_codelet& codelet, int priority, auto... modes_and_handles) {
                   require(starpu_mpi_task_insert(MPI_COMM_WORLD, &codelet, STARPU_PRIORITY,
                                                  priority, modes_and_handles..., 0),
                           "starpu_mpi_task_insert()");
                 });
    starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    const double seconds = watch.seconds();
    starpu_mpi_cache_flush_all_data(MPI_COMM_WORLD);
    return {linalg::slowest(seconds),
            is_right(options_, problem.answer.own_blocks(), linalg::sum_over_ranks)};
  }

 private:
  void give_tags(const TileData& tiles) {
    tiles.for_each([this](starpu_data_handle_t handle, int owner) {
      starpu_mpi_data_register(handle, next_tag_++, owner);
    });
  }

  const Options& options_;
  const TileData::Place place_;
  linalg::Codelets codelets_;
  starpu_mpi_tag_t next_tag_ = 0;
};

int run(const Options& options, const bench::MpiWorld& world, int workers) {
  bench::limit_time(options.run);
  linalg::use_one_blas_thread();
  // All ranks are on one machine, where StarPU would bind the first worker of each to one core.
  setenv("STARPU_WORKERS_NOBIND", "1", 0);
  setenv("STARPU_MPI_NOBIND", "1", 0);
  starpu_conf conf = bench::starpu_on_cpus(workers);
  require(starpu_mpi_init_conf(nullptr, nullptr, 0, MPI_COMM_WORLD, &conf),
          "starpu_mpi_init_conf()");
  std::vector<bench::Sample> samples;
  {
    Side side(options, {linalg::Grid::near_square(world.size()), world.rank()});
    for (int i = 0; i < options.run.repeat; ++i) samples.push_back(side.run_once());
  }
  starpu_mpi_shutdown();
  return linalg::finish_all(options, "starpu_mpi", world, samples, {{"workers", workers}});
}

}  // namespace

int main(int argc, char** argv) {
  const bench::MpiWorld world(argc, argv, MPI_THREAD_MULTIPLE);
  Options options;
  int workers = 1;
  const auto add_options = [&](cli::App& app) {
    linalg::add_options(app, options);
    app.add_option("--workers", workers, "Threads of a rank that run tasks")
        ->check(cli::range(1, 64));
  };
  return bench::run_program({"linalg_starpu_mpi", "Sequential task flow of StarPU over MPI.",
                             add_options, [&] { return run(options, world, workers); }},
                            bench::arguments_of(argc, argv), world.rank() == 0);
}
