#pragma once
// The instances of a flow on one rank.

#include "flow/instance.hpp"

#include <shoal/detail/sync/mutex.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace shoal::flow {

class Dependencies;

/// Pool of instances, whose memory it keeps until the flow ends; counts the bytes of copies.
/// **Caller**: any thread.
class Instances {
 public:
  /// Returns an instance that is not in use.
  [[nodiscard]] Instance& take();
  void put_back(Instance& instance);
  /// Sets what is to forget the accesses to an instance that is taken. **Caller**: before the
  /// first.
  void set_dependencies(Dependencies& dependencies) { dependencies_ = &dependencies; }
  template <class F>
  void for_each(F f) {
    const sync::Lock lock(mutex_);
    for (Instance& instance : instances_) f(instance);
  }
  template <class F>
  void for_each(F f) const {
    const sync::Lock lock(mutex_);
    for (const Instance& instance : instances_) f(instance);
  }

  void count_copy_bytes(std::int64_t bytes) {
    copy_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  /// So many, or more than any limit, by look_always().
  [[nodiscard]] std::size_t copy_bytes() const {
    return static_cast<std::size_t>(copy_bytes_.load(std::memory_order_relaxed));
  }
  [[nodiscard]] std::size_t real_copy_bytes() const { return copy_bytes() & ~kLooks; }
  /// Makes each insertion look at its limits: tasks run in attempts, which may not insert.
  void look_always() {
    copy_bytes_.fetch_or(static_cast<std::int64_t>(kLooks), std::memory_order_relaxed);
  }
  static constexpr std::size_t kLooks = std::size_t{1} << 62U;

 private:
  mutable sync::Mutex mutex_;
  std::deque<Instance> instances_ SHOAL_GUARDED_BY(mutex_);
  std::vector<Instance*> free_ SHOAL_GUARDED_BY(mutex_);
  Dependencies* dependencies_ = nullptr;
  std::atomic<std::int64_t> copy_bytes_{0};  // relaxed: a limit, not exact
};

}  // namespace shoal::flow
