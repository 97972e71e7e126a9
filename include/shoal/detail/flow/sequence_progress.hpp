#pragma once
// How many tasks and transfers of a sequence are under way, and waits for fewer.

#include <shoal/detail/sync/mutex.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace shoal::sched {
class Scheduler;
}  // namespace shoal::sched

namespace shoal::flow {

/// Any thread, except where said otherwise.
class SequenceProgress {
 public:
  SequenceProgress(sched::Scheduler& scheduler, std::string flow);
  ~SequenceProgress();
  SequenceProgress(const SequenceProgress&) = delete;
  SequenceProgress& operator=(const SequenceProgress&) = delete;

  // The inserter.
  void count_created(std::uint64_t count) {
    created_.store(created() + count, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t created() const { return created_.load(std::memory_order_relaxed); }
  /// Parks the caller until no more than `count` are under way.
  void wait_until(std::uint64_t count, const char* what);

  void count_finished();
  [[nodiscard]] std::uint64_t under_way() const;

 private:
  class Wait;
  struct alignas(64) Counter {
    std::atomic<std::uint64_t> value{0};
    std::atomic<std::uint32_t> inside{0};  // threads in count_finished(), for the destructor
  };

  void check_waits();

  sched::Scheduler& scheduler_;
  const std::string flow_;  // for reports
  const bool asymmetric_;
  // relaxed: written by the inserter; a wait that ends reads what it wrote itself
  std::atomic<std::uint64_t> created_{0};
  std::unique_ptr<Counter[]> finished_;  // by worker; the last one is for other threads

  sync::Mutex mutex_;
  std::atomic<int> wait_count_{0};
  // The largest count that a caller has waited for. relaxed: written before wait_count_ is raised
  std::atomic<std::uint64_t> wait_limit_{0};
  Wait* waits_ SHOAL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace shoal::flow
