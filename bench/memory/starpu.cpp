// StarPU with one worker, which is paused while tasks are made.

#include <starpu.h>

#include <cstdint>
#include <memory>
#include <string>

#include "common/starpu.hpp"
#include "memory/kernels.hpp"

namespace {

using bench::require;
using bench::memory::Batch;

void run_task(void* /*buffers*/[], void* argument) { ++*static_cast<std::uint64_t*>(argument); }
void run_nothing(void* /*buffers*/[], void* /*argument*/) {}

class StarPuBatch : public Batch {
 public:
  StarPuBatch() : counting_(make_codelet(run_task)), nothing_(make_codelet(run_nothing)) {}

  void finish() override {
    starpu_resume();
    starpu_task_wait_for_all();
  }
  [[nodiscard]] std::uint64_t ran() const override { return ran_; }

 protected:
  static void submit(starpu_task* task) {
    require(starpu_task_submit(task), "starpu_task_submit()");
  }
  starpu_task* make_counting() { return make_task(counting_); }
  starpu_task* make_gate() { return make_task(nothing_); }

 private:
  static starpu_codelet make_codelet(starpu_cpu_func_t function) {
    starpu_codelet codelet{};
    starpu_codelet_init(&codelet);
    codelet.cpu_funcs[0] = function;
    return codelet;
  }
  starpu_task* make_task(starpu_codelet& codelet) {
    starpu_task* const task = starpu_task_create();
    task->cl = &codelet;
    task->cl_arg = &ran_;
    task->cl_arg_size = sizeof ran_;
    return task;
  }

  starpu_codelet counting_;
  starpu_codelet nothing_;
  std::uint64_t ran_ = 0;
};

class Live final : public StarPuBatch {
 public:
  void make(int count) override {
    starpu_pause();
    for (int i = 0; i < count; ++i) submit(make_counting());
  }
};

/// Each waits for two tasks, of which one has run.
class Keys final : public StarPuBatch {
 public:
  void make(int count) override {
    starpu_task* const over = make_gate();
    over->destroy = 0;
    over->detach = 0;
    submit(over);
    require(starpu_task_wait(over), "starpu_task_wait()");
    starpu_pause();
    starpu_task* const ahead = make_gate();
    starpu_task* before[] = {over, ahead};
    for (int i = 0; i < count; ++i) {
      starpu_task* const task = make_counting();
      starpu_task_declare_deps_array(task, 2, before);
      submit(task);
    }
    submit(ahead);
    over_ = over;
  }
  void finish() override {
    StarPuBatch::finish();
    starpu_task_destroy(over_);
  }

 private:
  starpu_task* over_ = nullptr;
};

int run(const bench::memory::Options& options) {
  bench::limit_time(options.run);
  const bench::StarPuRun starpu(1);
  return bench::memory::measure(options, {.name = "starpu",
                                          .live = [] { return std::make_unique<Live>(); },
                                          .keys = [] { return std::make_unique<Keys>(); },
                                          .parked = {}});
}

}  // namespace

int main(int argc, char** argv) {
  bench::memory::Options options;
  const bench::Program program{"memory_starpu", "Memory of tasks of StarPU.",
                               [&](cli::App& app) { bench::memory::add_options(app, options); },
                               [&] { return run(options); }};
  return bench::run_program(program, {argv + 1, argv + argc}, true);
}
