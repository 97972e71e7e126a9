#pragma once
// Holds workers back until all tasks were made.

#include <atomic>
#include <thread>

namespace bench::tasks {

class Gate {
 public:
  /// Run by each worker that is to be held back.
  void pass() {
    held_.fetch_add(1, std::memory_order_relaxed);
    while (!open_.load(std::memory_order_acquire)) {  // pairs with the release in open()
    }
  }
  /// Returns when so many workers stand before the gate.
  void wait_for(int workers) const {
    while (held_.load(std::memory_order_relaxed) < workers) std::this_thread::yield();
  }
  void open() { open_.store(true, std::memory_order_release); }

 private:
  std::atomic<int> held_{0};
  std::atomic<bool> open_{false};
};

}  // namespace bench::tasks
