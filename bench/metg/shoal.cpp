// The side of shoal: in a process, embedded with --ranks 2, or in the processes of an MPI launch.

#include <shoal/shoal.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "common/stopwatch.hpp"
#include "metg/side.hpp"

namespace {

using metg::Columns;
using metg::Graph;
using metg::Value;
using metg::Work;
using shoal::Rank;

/// A task graph whose keys are the tasks' numbers, step by step. Each rank, and in it each worker,
/// has its part of the columns.
class Shoal final : public metg::Side {
 public:
  Shoal(shoal::World& world, const metg::Options& options)
      : world_(world),
        is_dense_(options.form == "dense"),
        width_(options.shape.width),
        mine_(metg::share_of(width_, world.size(), int{world.rank()})),
        arrive_(world.make_am([this](int step, int column, int dependant, Value value) {
          work_->receive(step, column, value);
          graph_->fulfill(key_of(step + 1, dependant));
        })) {}

  [[nodiscard]] std::string name() const override { return "shoal"; }
  [[nodiscard]] int cores() const override { return world_.size() * world_.worker_count(); }
  [[nodiscard]] int rank() const override { return int{world_.rank()}; }
  [[nodiscard]] int rank_count() const override { return world_.size(); }
  double largest(double value) override {
    return world_.allreduce(value, [](double a, double b) { return std::max(a, b); });
  }
  [[nodiscard]] bench::Values config() const override {
    const char* const launch = world_.launch() == shoal::Launch::mpi ? "mpi" : "embedded";
    return {{"launch", launch}, {"workers", world_.worker_count()}};
  }

  double run(Work& work) override {
    work_ = &work;
    graph_.emplace(world_, "metg");
    set_up(*graph_);
    world_.barrier();
    const bench::Stopwatch watch;
    start();
    world_.wait();
    const double seconds = watch.seconds();
    graph_.reset();
    return largest(seconds);
  }

 private:
  using Tasks = shoal::TaskGraph<int>;

  [[nodiscard]] int key_of(int step, int column) const { return step * width_ + column; }
  [[nodiscard]] const Graph& shape() const { return work_->graph(); }

  void set_up(Tasks& graph) {
    const int workers = world_.worker_count();
    const int columns = std::max(1, mine_.last - mine_.first);
    graph
        .set_indegree([this](int key) {
          const std::size_t count = shape().dependencies(key / width_, key % width_).size();
          return std::max(1, static_cast<int>(count));
        })
        .set_mapping([this, workers, columns](int key) {
          return metg::owner_of(columns, workers, key % width_ - mine_.first);
        })
        .set_task([this](int key) { run_task(key / width_, key % width_); });
    if (!is_dense_) return;
    graph.set_dense(static_cast<std::size_t>(key_of(shape().steps(), 0)),
                    [](int key) { return static_cast<std::size_t>(key); });
  }

  // Starts the tasks without dependencies.
  void start() {
    for (int step = 0; step < shape().steps(); ++step) {
      for (int column = mine_.first; column < std::min(mine_.last, shape().width_at(step));
           ++column) {
        if (shape().dependencies(step, column).empty()) graph_->fulfill(key_of(step, column));
      }
      if (step > 0 && !shape().dependencies(step, 0).empty()) return;
    }
  }

  void run_task(int step, int column) {
    work_->run_task(step, column);
    for (const int dependant : shape().dependants(step, column)) {
      if (mine_.contains(dependant)) {
        graph_->fulfill(key_of(step + 1, dependant));
      } else {
        arrive_.send(Rank(metg::owner_of(width_, world_.size(), dependant)), step, column,
                     dependant, work_->value(step, column));
      }
    }
  }

  shoal::World& world_;
  const bool is_dense_;
  const int width_;
  const Columns mine_;
  // State of the current run.
  Work* work_ = nullptr;
  std::optional<Tasks> graph_;

  shoal::ActiveMessage<int, int, int, Value> arrive_;
};

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    metg::Options options;
    const bench::Program program{
        "metg_shoal",
        "Minimum effective task granularity of shoal; --help lists the options of shoal.",
        [&](cli::App& app) {
          metg::add_options(app, options, {"dense", "hash"});
        },
        [&] {
          Shoal side(world, options);
          return metg::measure(side, options);
        }};
    return bench::run_program(program, {world.args().begin() + 1, world.args().end()},
                              world.rank() == 0);
  });
}
