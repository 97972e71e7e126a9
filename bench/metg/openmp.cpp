// The side of OpenMP: tasks with depend clauses. Compiled with gcc for libgomp and with clang for
// libomp: BENCH_SIDE says which.

#include <omp.h>

#include <cstddef>
#include <vector>

#include "common/stopwatch.hpp"
#include "metg/side.hpp"

namespace {

using metg::Graph;
using metg::Work;

class OpenMp final : public metg::Side {
 public:
  explicit OpenMp(int threads) : threads_(threads) {
    omp_set_dynamic(0);
    omp_set_num_threads(threads);
  }

  [[nodiscard]] std::string name() const override { return BENCH_SIDE; }
  [[nodiscard]] int cores() const override { return threads_; }

  double run(Work& work) override {
    const Graph& graph = work.graph();
    const auto width = static_cast<std::size_t>(graph.width());
    std::vector<char> places(width * static_cast<std::size_t>(graph.steps()));
    const bench::Stopwatch watch;
#pragma omp parallel default(none) shared(work, graph, places, width)
#pragma omp single
    for (int step = 0; step < graph.steps(); ++step) {
      char* const place = places.data() + static_cast<std::size_t>(step) * width;
      for (int column = 0; column < graph.width_at(step); ++column) {
        insert(work, place, step, column);
      }
    }
    return watch.seconds();
  }

 private:
  // `place`: of the step. One is written by each task, and read by those that depend on it.
  static void insert(Work& work, [[maybe_unused]] char* place, int step, int column) {
    const std::span<const int> from = work.graph().dependencies(step, column);
    if (from.empty()) {
#pragma omp task default(none) shared(work) firstprivate(step, column) depend(out : place[column])
      work.run_task(step, column);
      return;
    }
    [[maybe_unused]] const char* const before = place - work.graph().width();
    const int count = static_cast<int>(from.size());
    const int* const columns = from.data();
#pragma omp task default(none) shared(work) firstprivate(step, column) \
    depend(iterator(k = 0 : count), in : before[columns[k]]) depend(out : place[column])
    work.run_task(step, column);
  }

  const int threads_;
};

}  // namespace

int main(int argc, char** argv) {
  return metg::run_alone(argc, argv, {"plain"},
                         [](const metg::Options& options) { return OpenMp(options.workers); });
}
