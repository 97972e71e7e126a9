#include <shoal/detail/env/env.hpp>

#include "env/start_thread.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <random>
#include <thread>

namespace shoal::env {

namespace {

/// One word for the kernel's futex. It says whether a token is there, the thread sleeps, or
/// neither. Takes no lock, and makes no system call if the token is there or nobody sleeps.
class ThreadParker final : public Parker {
 public:
  void park(std::uint64_t timeout_ns) override {
    // acquire, here and below: pairs with the release in unpark()
    if (state_.fetch_sub(1, std::memory_order_acquire) == kToken) return;
    timespec deadline{};
    const bool is_limited = timeout_ns > 0 && timeout_ns <= kLongestNs;
    if (is_limited) deadline = after(timeout_ns);
    do {
      if (!sleep(is_limited ? &deadline : nullptr)) break;
    } while (state_.load(std::memory_order_acquire) == kParked);
    state_.exchange(kEmpty, std::memory_order_acquire);  // a token that came meanwhile is taken
  }

  // Once the owner sees the token, the parker may be gone: the kernel does not read the address,
  // and a thread that sleeps there by then looks again.
  void unpark() override {
    if (state_.exchange(kToken, std::memory_order_release) == kParked) {
      syscall(SYS_futex, word(), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
  }

 private:
  static constexpr int kParked = -1;
  static constexpr int kEmpty = 0;
  static constexpr int kToken = 1;
  // The present time plus more than this would not fit into 64 bits; no process lives that long.
  static constexpr std::uint64_t kLongestNs = std::uint64_t{1} << 62U;

  static timespec after(std::uint64_t ns) {
    constexpr std::int64_t kSecondNs = 1'000'000'000;
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const std::int64_t sum_ns = now.tv_nsec + static_cast<std::int64_t>(ns % kSecondNs);
    return {.tv_sec = now.tv_sec + static_cast<std::int64_t>(ns / kSecondNs) + sum_ns / kSecondNs,
            .tv_nsec = sum_ns % kSecondNs};
  }
  /// Sleeps while the thread is parked; false when the time is over.
  bool sleep(const timespec* deadline) {
    return syscall(SYS_futex, word(), FUTEX_WAIT_BITSET_PRIVATE, kParked, deadline, nullptr,
                   FUTEX_BITSET_MATCH_ANY) == 0 ||
           errno != ETIMEDOUT;
  }
  int* word() { return reinterpret_cast<int*>(&state_); }

  std::atomic<int> state_{kEmpty};
  static_assert(sizeof(std::atomic<int>) == sizeof(int) && std::atomic<int>::is_always_lock_free);
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
