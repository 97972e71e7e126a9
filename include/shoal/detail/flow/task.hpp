#pragma once
// Tasks of a flow, and their accesses to data.

#include <shoal/detail/sched/task.hpp>
#include <shoal/rank.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::flow {

class FlowTask;
class Instance;
class Sequence;
struct Handle;

enum class Mode : std::uint8_t {
  read,
  write,  // what was there before is not needed
  read_write,
  commutative,  // read_write, in any order among its like
  reduction,    // adds to a value of its own, combined later
  scratch,      // memory for the time of the task
};
[[nodiscard]] constexpr bool reads(Mode mode) {
  return mode == Mode::read || mode == Mode::read_write || mode == Mode::commutative;
}
[[nodiscard]] constexpr bool writes(Mode mode) {
  return mode == Mode::write || mode == Mode::read_write || mode == Mode::commutative;
}
[[nodiscard]] const char* name_of(Mode mode);

/// One use of an instance by a task. Inside the task; in at most one list.
struct Access {
  Access* next = nullptr;  // in the instance's queue
  void* object = nullptr;  // what the task works on, once it runs
  Instance* instance = nullptr;
  FlowTask* task = nullptr;
  Mode mode = Mode::read;
};

/// A requested access. `instance` is the instance of the datum on this rank.
struct Request {
  Handle* handle = nullptr;
  std::uint32_t generation = 0;
  Mode mode = Mode::read;
  Instance* instance = nullptr;
};

/// A task that becomes ready when all of its accesses are granted.
class FlowTask : public sched::Task {
 public:
  FlowTask(Sequence& sequence, std::span<Access> accesses);

  void run() final;
  [[nodiscard]] std::string name() const override;
  /// Its data, as arguments: "(A, B)".
  std::size_t write_key(std::span<char> text) const noexcept override;
  /// Transfers and their like: with what they are of, "sending A" for 'A[3,2]'.
  std::size_t write_family(std::span<char> text) const noexcept override;

  /// Called when all accesses are granted; submits the task, by default. **Caller**: any worker.
  virtual void become_ready();
  /// Called when the flow ends while accesses of the task wait, as its team has failed: ends the
  /// task, which owns itself.
  virtual void drop() { delete this; }
  /// Returns whether its accesses are released after run() only.
  [[nodiscard]] virtual bool keeps_accesses() const { return false; }
  /// Returns whether it is a task of the program, which a FlowScheduler may order.
  [[nodiscard]] virtual bool is_inserted() const { return false; }
  /// Returns whether become_ready() submits it.
  [[nodiscard]] virtual bool is_scheduled() const { return true; }
  /// Returns whether the task counts as memory-bound, see TaskOptions::memory_bound. Called when it
  /// is ready, in runs with a limit only.
  [[nodiscard]] virtual bool is_memory_bound() { return false; }

  [[nodiscard]] std::span<Access> accesses() const { return {accesses_, access_count_}; }
  [[nodiscard]] Sequence& sequence() const { return sequence_; }

  /// Accesses not granted, and one for the insertion; acquire and release: the writes of earlier
  /// tasks are seen.
  std::atomic<std::int32_t> missing{0};

 protected:
  virtual void execute() = 0;
  /// Finds the objects of its accesses, before it runs; returns false if some have objects of their
  /// own, which only run() finds.
  [[nodiscard]] bool find_objects();

 private:
  void execute_watched();
  [[nodiscard]] std::string text_of_data() const;

  Sequence& sequence_;
  Access* const accesses_;
  const std::uint32_t access_count_;
};

/// Values of the data that a task changes and does not replace, so that each of its attempts begins
/// with the same ones.
class ValuesBefore {
 public:
  /// Copies them, as bytes in which they travel.
  explicit ValuesBefore(std::span<const Access> accesses);
  /// Called before each attempt; the first time it does nothing.
  void restore();

 private:
  struct Value {
    const Access& access;
    std::vector<std::byte> bytes;
  };
  std::vector<Value> values_;
  bool is_first_ = true;
};

}  // namespace shoal::flow
