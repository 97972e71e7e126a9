// Point to point between pinned threads: no runtime system, the limit of the machine.

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "common/stopwatch.hpp"
#include "metg/side.hpp"

namespace {

using metg::Columns;
using metg::Graph;
using metg::Work;

std::vector<int> allowed_cores() {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  }
  return cores;
}

void pin_to(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

// Step by step. A task waits for each input until its value, which is stored last, has the expected
// step.
void run_columns(Work& work, const Columns& columns) {
  const Graph& graph = work.graph();
  for (int step = 0; step < graph.steps(); ++step) {
    for (int column = columns.first; column < columns.last; ++column) {
      if (column >= graph.width_at(step)) break;
      for (const int from : graph.dependencies(step, column)) {
        if (!columns.contains(from)) static_cast<void>(work.wait_for(step - 1, from));
      }
      work.run_task(step, column);
    }
  }
}

/// The main thread is the first one of them.
class Threads final : public metg::Side {
 public:
  explicit Threads(int count) : count_(count), cores_(allowed_cores()) {
    for (int i = 1; i < count; ++i) threads_.emplace_back([this, i] { serve(i); });
    pin_to(core_of(0));
  }
  ~Threads() override {
    work_ = nullptr;
    round_.fetch_add(1, std::memory_order_release);  // pairs with the acquire in serve()
    for (std::thread& thread : threads_) thread.join();
  }

  [[nodiscard]] std::string name() const override { return "threads"; }
  [[nodiscard]] int cores() const override { return count_; }

  double run(Work& work) override {
    work_ = &work;
    open_.store(count_ - 1, std::memory_order_relaxed);  // no thread looks before the next round
    const bench::Stopwatch watch;
    round_.fetch_add(1, std::memory_order_release);  // pairs with the acquire in serve()
    run_columns(work, metg::share_of(work.graph().width(), count_, 0));
    while (open_.load(std::memory_order_acquire) > 0) {  // pairs with the release in serve()
    }
    return watch.seconds();
  }

 private:
  [[nodiscard]] int core_of(int index) const {
    return cores_[static_cast<std::size_t>(index) % cores_.size()];
  }

  void serve(int index) {
    pin_to(core_of(index));
    for (int round = 1;; ++round) {
      while (round_.load(std::memory_order_acquire) < round) {
      }
      if (work_ == nullptr) return;
      run_columns(*work_, metg::share_of(work_->graph().width(), count_, index));
      open_.fetch_sub(1, std::memory_order_release);
    }
  }

  const int count_;
  const std::vector<int> cores_;
  Work* work_ = nullptr;  // written before a round begins
  std::atomic<int> round_{0};
  std::atomic<int> open_{0};  // threads that still run
  std::vector<std::thread> threads_;
};

}  // namespace

int main(int argc, char** argv) {
  return metg::run_alone(argc, argv, {"plain"},
                         [](const metg::Options& options) { return Threads(options.workers); });
}
