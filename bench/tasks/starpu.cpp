// The kernels about tasks on StarPU: tasks with explicit dependencies, and sequential task flow.

#include <starpu.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/starpu.hpp"
#include "tasks/side.hpp"

namespace bench::tasks {
namespace {

void run_flood(void* /*buffers*/[], void* argument) { static_cast<Flood*>(argument)->run_task(); }

struct GridTask {
  Grid* grid;
  int i;
  int j;
};
void run_grid(void* /*buffers*/[], void* argument) {
  const auto& task = *static_cast<GridTask*>(argument);
  task.grid->run_task(task.i, task.j);
}

starpu_codelet make_codelet(starpu_cpu_func_t function, const char* name) {
  starpu_codelet codelet{};
  starpu_codelet_init(&codelet);
  codelet.cpu_funcs[0] = function;
  codelet.name = name;
  return codelet;
}

/// Data without contents, which only order tasks.
class Pieces {
 public:
  explicit Pieces(std::size_t count) : handles_(count) {
    for (starpu_data_handle_t& handle : handles_) starpu_void_data_register(&handle);
  }
  ~Pieces() {
    for (starpu_data_handle_t handle : handles_) starpu_data_unregister(handle);
  }
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  [[nodiscard]] starpu_data_handle_t at(std::size_t number) const {
    return handles_[number % handles_.size()];
  }

 private:
  std::vector<starpu_data_handle_t> handles_;
};

class StarPu final : public Side {
 public:
  [[nodiscard]] std::string name() const override { return "starpu"; }
  [[nodiscard]] std::vector<std::string> forms() const override { return {"task", "flow"}; }

  void start(int count, const std::function<void()>& body) override {
    const StarPuRun run(count);
    body();
  }

  double flood(Flood& flood) override {
    starpu_codelet codelet = make_codelet(run_flood, "flood");
    const Pieces pieces(form == "flow" ? kPieces : 0);
    codelet.nbuffers = form == "flow" ? 1 : 0;
    codelet.modes[0] = STARPU_RW;
    if (flood.ready) starpu_pause();
    const Stopwatch all;
    for (std::uint64_t i = 0; i < flood.tasks; ++i) {
      if (form == "flow") {
        insert(codelet, &flood, sizeof flood, pieces.at(i));
      } else {
        submit(make_task(codelet, &flood, sizeof flood));
      }
    }
    const Stopwatch inserted;
    if (flood.ready) starpu_resume();
    starpu_task_wait_for_all();
    return (flood.ready ? inserted : all).seconds();
  }

  double grid(Grid& grid) override {
    std::vector<GridTask> arguments;  // of the tasks, column by column
    for (int j = 0; j < grid.columns; ++j) {
      for (int i = 0; i < grid.rows; ++i) arguments.push_back({&grid, i, j});
    }
    return form == "flow" ? grid_by_flow(grid, arguments) : grid_of_tasks(grid, arguments);
  }

 private:
  // Independent tasks of a flow have a piece of data each. This many serve for all: a task and the
  // next one of the same piece are far apart.
  static constexpr std::size_t kPieces = 1024;
  // The same for the columns of a grid.
  static constexpr std::size_t kColumns = 64;

  static starpu_task* make_task(starpu_codelet& codelet, void* argument, std::size_t size) {
    starpu_task* const task = starpu_task_create();
    task->cl = &codelet;
    task->cl_arg = argument;
    task->cl_arg_size = size;
    return task;
  }

  static void submit(starpu_task* task) {
    require(starpu_task_submit(task), "starpu_task_submit()");
  }

  static void insert(starpu_codelet& codelet, void* argument, std::size_t size,
                     starpu_data_handle_t piece) {
    require(starpu_task_insert(&codelet, STARPU_CL_ARGS_NFREE, argument, size, STARPU_RW, piece, 0),
            "starpu_task_insert()");
  }

  static double grid_of_tasks(const Grid& grid, std::vector<GridTask>& arguments) {
    starpu_codelet codelet = make_codelet(run_grid, "grid");
    const auto rows = static_cast<std::size_t>(grid.rows);
    std::vector<starpu_task*> tasks;
    std::vector<starpu_task*> before(static_cast<std::size_t>(grid.dependencies));
    tasks.reserve(arguments.size());
    const Stopwatch watch;
    for (GridTask& argument : arguments) {
      starpu_task* const task = make_task(codelet, &argument, sizeof argument);
      task->destroy = 0;  // later tasks still refer to it
      if (argument.j > 0) {
        const std::size_t column = static_cast<std::size_t>(argument.j - 1) * rows;
        for (int k = 0; k < grid.dependencies; ++k) {
          before[static_cast<std::size_t>(k)] =
              tasks[column + static_cast<std::size_t>(grid.row_before(argument.i, k))];
        }
        starpu_task_declare_deps_array(task, static_cast<unsigned>(before.size()), before.data());
      }
      submit(task);
      tasks.push_back(task);
    }
    starpu_task_wait_for_all();
    const double seconds = watch.seconds();
    for (starpu_task* task : tasks) starpu_task_destroy(task);
    return seconds;
  }

  static double grid_by_flow(const Grid& grid, std::vector<GridTask>& arguments) {
    starpu_codelet codelet = make_codelet(run_grid, "grid");
    codelet.nbuffers = STARPU_VARIABLE_NBUFFERS;
    const auto rows = static_cast<std::size_t>(grid.rows);
    const Pieces pieces(rows * std::min(kColumns, static_cast<std::size_t>(grid.columns)));
    std::vector<starpu_data_descr> uses;
    const auto use = [&](int i, int j, starpu_data_access_mode mode) {
      const std::size_t number = static_cast<std::size_t>(j) * rows + static_cast<std::size_t>(i);
      uses.push_back({pieces.at(number), mode});
    };
    const Stopwatch watch;
    for (GridTask& argument : arguments) {
      uses.clear();
      use(argument.i, argument.j, STARPU_W);
      for (int k = 0; argument.j > 0 && k < grid.dependencies; ++k) {
        use(grid.row_before(argument.i, k), argument.j - 1, STARPU_R);
      }
      require(
          starpu_task_insert(&codelet, STARPU_CL_ARGS_NFREE, &argument, sizeof argument,
                             STARPU_DATA_MODE_ARRAY, uses.data(), static_cast<int>(uses.size()), 0),
          "starpu_task_insert()");
    }
    starpu_task_wait_for_all();
    return watch.seconds();
  }
};

}  // namespace
}  // namespace bench::tasks

int main(int argc, char** argv) {
  bench::tasks::StarPu side;
  return bench::tasks::run_program(argc, argv, side);
}
