#include "edat_api/task_thread.hpp"

#include "base/float_control.hpp"
#include "base/per_thread.hpp"
#include "edat_api/program.hpp"

#include <utility>

namespace shoal::edat_api {

// --- one

TaskThread::TaskThread(env::Env& env) : task_(env.make_parker()), mine_(env.make_parker()) {
  thread_.emplace("shoal edat task", "a function of a task", [this] { run_functions(); });
}

TaskThread::~TaskThread() {
  mine_->unpark();
  thread_.reset();
}

void TaskThread::run(FunctionRef<void()> function) {
  function_ = &function;
  mine_->unpark();
  while (true) {
    task_->park(0);
    if (call_ == nullptr) return;
    (*std::exchange(call_, nullptr))();
    mine_->unpark();
  }
}

void TaskThread::in_task(FunctionRef<void()> call) {
  call_ = &call;
  task_->unpark();
  mine_->park(0);
}

TaskThread* TaskThread::current() { return of_this_thread<Belongings>().task_thread; }

void TaskThread::run_functions() {
  of_this_thread<Belongings>().task_thread = this;
  const FloatControl first = FloatControl::here();
  while (true) {
    mine_->park(0);
    if (function_ == nullptr) return;
    first.apply();  // an earlier function may have changed it
    (*std::exchange(function_, nullptr))();
    task_->unpark();
  }
}

// --- all

void TaskThreads::run(FunctionRef<void()> function) {
  TaskThread& thread = take();
  thread.run(function);
  const sync::Lock lock(mutex_);
  idle_.push_back(&thread);
}

TaskThread& TaskThreads::take() {
  const sync::Lock lock(mutex_);
  if (idle_.empty()) {
    all_.push_back(std::make_unique<TaskThread>(env_));
    idle_.reserve(all_.size());
    return *all_.back();
  }
  TaskThread* const thread = idle_.back();
  idle_.pop_back();
  return *thread;
}

}  // namespace shoal::edat_api
