#pragma once
// State of a worker, for reports.

#include <shoal/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shoal::sched {

/// A task that is parked until something wakes it.
struct ParkedTask {
  std::string name;
  std::string where;  // what it called: "send() to rank 3"
  std::string place;  // in the source, as a part of `where`: " (heat.py:57 in exchange)", or ""
  std::uint64_t since_ns = 0;
  bool is_main = false;      // the main function
  bool polls = false;        // it goes on by itself, from yield() or sleep_for()
  std::uint64_t due_ns = 0;  // deadline of its wait; 0: none
};

/// Counts of ready tasks, by queue.
struct QueueLengths {
  std::size_t resumed = 0;    // parked before, and may go on
  std::size_t bound = 0;      // to this worker
  std::size_t delivered = 0;  // made from messages
  std::size_t ready = 0;      // with a priority, or pushed by others
  std::size_t own = 0;        // pushed by this worker
  [[nodiscard]] std::size_t total() const { return resumed + bound + delivered + ready + own; }
};

struct WorkerState {
  WorkerId worker;
  bool asleep = false;
  bool answered = false;    // it came by and described itself; else `parked` is empty
  std::string task;         // what it runs right now, or ""
  std::string place;        // of the task: " (heat.py:57 in exchange)", or ""
  std::string handler;      // the same, of a handler
  std::string attempt;      // the same, of an attempt of the task: "attempt 2 of 4 of 'x'"
  std::uint64_t begun = 0;  // tasks, parts of tasks and handlers, so far
  bool throttled = false;   // so many senders stand still that it begins no further task
  QueueLengths queues;
  std::vector<ParkedTask> parked;
};

}  // namespace shoal::sched
