// The side of oneTBB: tasks of a group, made when the last one that they wait for has run.

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <cstddef>
#include <vector>

#include "common/stopwatch.hpp"
#include "metg/side.hpp"

namespace {

using metg::Graph;
using metg::Work;

/// One run of a graph.
class Run {
 public:
  explicit Run(Work& work)
      : work_(work),
        missing_(static_cast<std::size_t>(work.graph().steps()) *
                 static_cast<std::size_t>(work.graph().width())) {
    for_all([this](int step, int column) {
      const std::size_t count = graph().dependencies(step, column).size();
      missing(step, column).store(static_cast<int>(count), std::memory_order_relaxed);
    });
  }

  void operator()() {
    for_all([this](int step, int column) {
      if (graph().dependencies(step, column).empty()) spawn(step, column);
    });
    group_.wait();
  }

 private:
  [[nodiscard]] const Graph& graph() const { return work_.graph(); }
  std::atomic<int>& missing(int step, int column) {
    return missing_[static_cast<std::size_t>(step) * static_cast<std::size_t>(graph().width()) +
                    static_cast<std::size_t>(column)];
  }

  template <class Visit>
  void for_all(Visit visit) const {
    for (int step = 0; step < graph().steps(); ++step) {
      for (int column = 0; column < graph().width_at(step); ++column) visit(step, column);
    }
  }

  void spawn(int step, int column) {
    group_.run([this, step, column] {
      work_.run_task(step, column);
      for (const int dependant : graph().dependants(step, column)) {
        // acq_rel: the last one has seen what all of them did
        if (missing(step + 1, dependant).fetch_sub(1, std::memory_order_acq_rel) == 1) {
          spawn(step + 1, dependant);
        }
      }
    });
  }

  Work& work_;
  std::vector<std::atomic<int>> missing_;
  tbb::task_group group_;
};

class Tbb final : public metg::Side {
 public:
  explicit Tbb(int threads)
      : threads_(threads),
        limit_(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads)),
        arena_(threads) {}

  [[nodiscard]] std::string name() const override { return "tbb"; }
  [[nodiscard]] int cores() const override { return threads_; }

  double run(Work& work) override {
    return arena_.execute([&work] {
      Run run(work);
      const bench::Stopwatch watch;
      run();
      return watch.seconds();
    });
  }

 private:
  const int threads_;
  const tbb::global_control limit_;
  tbb::task_arena arena_;
};

}  // namespace

int main(int argc, char** argv) {
  return metg::run_alone(argc, argv, {"plain"},
                         [](const metg::Options& options) { return Tbb(options.workers); });
}
