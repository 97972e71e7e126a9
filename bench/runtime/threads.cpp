// The kernels about workers of a program on threads that take functions out of a queue.

#include "runtime/program.hpp"

#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace bench::runtime {
namespace {

class Threads {
 public:
  static const char* name() { return "threads"; }
  explicit Threads(int workers) {
    for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Threads() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    threads_.clear();
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  template <class F>
  std::int64_t ask(F f) {
    const auto task = std::make_shared<std::packaged_task<std::int64_t()>>(std::move(f));
    auto result = task->get_future();
    give([task] { (*task)(); });
    return result.get();
  }
  void give(std::function<void()> f) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(f));
    }
    changed_.notify_one();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return ends_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const std::function<void()> f = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      f();
      lock.lock();
    }
  }

  std::mutex mutex_;  // for all below, except threads_
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool ends_ = false;
  std::vector<std::jthread> threads_;  // the last member: they use the others
};

}  // namespace
}  // namespace bench::runtime

int main(int argc, char** argv) {
  return bench::runtime::Program<bench::runtime::Threads>().main(argc, argv);
}
