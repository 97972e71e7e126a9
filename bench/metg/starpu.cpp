// The side of StarPU: sequential task flow.

#include <starpu.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "common/starpu.hpp"
#include "common/stopwatch.hpp"
#include "metg/side.hpp"

namespace {

using bench::require;
using metg::Graph;
using metg::Work;

// Pieces of data are for so many steps, as each takes kilobytes. Then they are used again, when
// those that used them are long gone.
constexpr int kSteps = 64;

struct Task {
  Work* work;
  int step;
  int column;
};
void run_task(void* /*buffers*/[], void* argument) {
  const auto& task = *static_cast<Task*>(argument);
  task.work->run_task(task.step, task.column);
}

/// Data without contents, which only order tasks.
class Pieces {
 public:
  explicit Pieces(int width)
      : width_(width), handles_(static_cast<std::size_t>(width) * std::size_t{kSteps}) {
    for (starpu_data_handle_t& handle : handles_) starpu_void_data_register(&handle);
  }
  ~Pieces() {
    for (starpu_data_handle_t handle : handles_) starpu_data_unregister(handle);
  }
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  [[nodiscard]] starpu_data_handle_t at(int step, int column) const {
    return handles_[static_cast<std::size_t>(step % kSteps) * static_cast<std::size_t>(width_) +
                    static_cast<std::size_t>(column)];
  }

 private:
  const int width_;
  std::vector<starpu_data_handle_t> handles_;
};

class StarPu final : public metg::Side {
 public:
  explicit StarPu(int workers) : run_(workers), workers_(workers) {
    starpu_codelet_init(&codelet_);
    codelet_.cpu_funcs[0] = run_task;
    codelet_.name = "metg";
    codelet_.nbuffers = STARPU_VARIABLE_NBUFFERS;
  }

  [[nodiscard]] std::string name() const override { return "starpu"; }
  [[nodiscard]] int cores() const override { return workers_; }

  double run(Work& work) override {
    const Graph& graph = work.graph();
    const Pieces pieces(graph.width());
    std::vector<Task> tasks;  // the arguments have to stay
    tasks.reserve(static_cast<std::size_t>(graph.task_count()));
    std::vector<starpu_data_descr> uses;
    const bench::Stopwatch watch;
    for (int step = 0; step < graph.steps(); ++step) {
      for (int column = 0; column < graph.width_at(step); ++column) {
        uses.assign(1, {pieces.at(step, column), STARPU_W});
        for (const int from : graph.dependencies(step, column)) {
          uses.push_back({pieces.at(step - 1, from), STARPU_R});
        }
        insert(tasks.emplace_back(Task{&work, step, column}), uses);
      }
    }
    starpu_task_wait_for_all();
    return watch.seconds();
  }

 private:
  void insert(Task& task, std::vector<starpu_data_descr>& uses) {
    require(
        starpu_task_insert(&codelet_, STARPU_CL_ARGS_NFREE, &task, sizeof task,
                           STARPU_DATA_MODE_ARRAY, uses.data(), static_cast<int>(uses.size()), 0),
        "starpu_task_insert()");
  }

  const bench::StarPuRun run_;
  const int workers_;
  starpu_codelet codelet_{};
};

}  // namespace

int main(int argc, char** argv) {
  return metg::run_alone(argc, argv, {"flow"},
                         [](const metg::Options& options) { return StarPu(options.workers); });
}
