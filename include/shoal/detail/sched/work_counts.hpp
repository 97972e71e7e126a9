#pragma once
// Counts of the tasks and messages of a scope on one rank.

#include <shoal/rank.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace shoal::sched {

/// Counters are kept per worker (one writer each) and summed by detection only. Threads that are no
/// workers share a slot.
class WorkCounts {
 public:
  struct Totals {
    std::uint64_t created = 0;  // tasks
    std::uint64_t finished = 0;
    std::uint64_t queued = 0;  // messages
    std::uint64_t processed = 0;
    bool operator==(const Totals&) const = default;
  };

  explicit WorkCounts(int worker_count);
  WorkCounts(const WorkCounts&) = delete;
  WorkCounts& operator=(const WorkCounts&) = delete;

  // Each counts one event for the calling worker, or in the slot of other threads.
  void task_created(int slot) { add(slots_[index(slot)].created, slot); }
  void task_finished(int slot) { add(slots_[index(slot)].finished, slot); }
  void task_created(WorkerId worker) { add_own(slots_[index(worker.value())].created, 1); }
  void task_finished(WorkerId worker) { add_own(slots_[index(worker.value())].finished, 1); }
  void message_queued(int slot) { add(slots_[index(slot)].queued, slot); }
  void messages_processed(int slot, std::uint64_t n = 1) {
    add(slots_[index(slot)].processed, slot, n);
  }

  /// Sums all slots. Reads finished and processed before queued and created: a finished task was
  /// created before, so finished == created proves a moment, between the reads, at which
  /// every created task had finished (docs/design/completion.md).
  [[nodiscard]] Totals totals() const {
    Totals sum;
    add_ended(sum);
    add_begun(sum);
    return sum;
  }
  /// The two parts of totals(), in this order, for sums over several scopes: of all scopes the
  /// first part is read before the second part of any.
  void add_ended(Totals& sum) const;
  void add_begun(Totals& sum) const;

  /// The messages counted as queued so far, perhaps without the last few.
  [[nodiscard]] std::uint64_t queued_so_far() const {
    std::uint64_t sum = 0;
    for (int slot = 0; slot <= foreign_slot_; ++slot) {
      sum += slots_[index(slot)].queued.load(std::memory_order_relaxed);
    }
    return sum;
  }

  /// The slot of threads that are no workers.
  [[nodiscard]] int foreign_slot() const { return foreign_slot_; }

 private:
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> created{0};
    std::atomic<std::uint64_t> finished{0};
    std::atomic<std::uint64_t> queued{0};
    std::atomic<std::uint64_t> processed{0};
  };
  static std::size_t index(int slot) { return static_cast<std::size_t>(slot); }
  // release pairs with the acquire in totals(): a reader of the count sees what happened
  // before it. Workers' slots have one writer, so a plain add is enough.
  void add(std::atomic<std::uint64_t>& counter, int slot, std::uint64_t n = 1) const {
    if (slot == foreign_slot_) {
      counter.fetch_add(n, std::memory_order_release);
    } else {
      add_own(counter, n);
    }
  }
  static void add_own(std::atomic<std::uint64_t>& counter, std::uint64_t n) {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_release);
  }

  const int foreign_slot_;
  const std::unique_ptr<Slot[]> slots_;
};

}  // namespace shoal::sched
