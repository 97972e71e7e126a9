#include <shoal/detail/env/env.hpp>

#include "env/start_thread.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <random>
#include <thread>

namespace shoal::env {

namespace {

class ThreadParker final : public Parker {
 public:
  void park(std::uint64_t timeout_ns) override {
    std::unique_lock lock(mutex_);
    const auto is_set = [this] { return token_; };
    // The present time plus more than this would not fit into 64 bits; no process lives that long.
    constexpr std::uint64_t kLongestNs = std::uint64_t{1} << 62U;
    if (timeout_ns == 0 || timeout_ns > kLongestNs) {
      condition_.wait(lock, is_set);
    } else {
      condition_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), is_set);
    }
    token_ = false;
  }

  void unpark() override {
    // Notified under the lock: once the owner sees the token, the parker may be gone.
    const std::lock_guard lock(mutex_);
    token_ = true;
    condition_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool token_ = false;  // guarded by mutex_
};

/// A thread for each Steppable but the first. They run it all or, if a thread is missing, none.
class DrivenThreads {
 public:
  explicit DrivenThreads(const std::vector<Steppable*>& all) {
    threads_.reserve(all.size());
    try {
      for (std::size_t i = 1; i < all.size(); ++i) {
        threads_.push_back(start_thread(all[i]->name(), all[i]->purpose(), [this, one = all[i]] {
          state_.wait(State::waits);
          if (state_.load() == State::goes) one->run();
        }));
      }
    } catch (...) {
      open(State::ends);
      throw;
    }
  }
  ~DrivenThreads() { join(); }
  DrivenThreads(const DrivenThreads&) = delete;
  DrivenThreads& operator=(const DrivenThreads&) = delete;

  void go() { open(State::goes); }

 private:
  enum class State : int { waits, goes, ends };
  void open(State state) {
    state_.store(state);
    state_.notify_all();
    if (state == State::ends) join();
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  std::atomic<State> state_{State::waits};
  std::vector<std::thread> threads_;
};

class ThreadEnv final : public Env {
 public:
  std::uint64_t now_ns() override {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  }

  std::uint64_t random_seed() override {
    std::random_device device;
    return (std::uint64_t{device()} << 32) | device();
  }

  std::unique_ptr<Parker> make_parker() override { return std::make_unique<ThreadParker>(); }

  void yield() override { std::this_thread::yield(); }

  void drive(const std::vector<Steppable*>& all) override {
    if (all.empty()) return;
    DrivenThreads threads(all);
    threads.go();
    all.front()->run();
  }
};

}  // namespace

std::unique_ptr<Env> make_thread_env() { return std::make_unique<ThreadEnv>(); }

}  // namespace shoal::env
