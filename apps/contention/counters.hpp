#pragma once
// Counters of the memory controllers, read by PAPI.

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace contention {

/// PAPI events that count all cache lines between the memory and the sockets of a machine, out of
/// the events `known` of its memory controllers. `processors` has one of each socket, as the
/// operating system numbers them. Empty where the processor has no such events.
[[nodiscard]] std::vector<std::string> memory_events(const std::vector<std::string>& known,
                                                     const std::vector<int>& processors);

/// Traffic of all memory controllers. Caller: one thread.
class Counters {
 public:
  /// Counts `events`, each of 64 bytes; without events, those that memory_events() finds on this
  /// machine. Errors: InputError for one of `events` that PAPI cannot count.
  Counters(const std::vector<std::string>& events, const std::vector<int>& processors);
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  /// Sentence on what is counted, or why nothing is.
  [[nodiscard]] const std::string& note() const { return note_; }
  [[nodiscard]] bool is_counting() const { return events_ != nullptr; }

  void start();
  /// MB/s since start(). Empty where nothing is counted, or nothing moved.
  [[nodiscard]] std::optional<double> stop();

 private:
  struct Events;

  std::unique_ptr<Events> events_;  // null: nothing is counted
  std::string note_;
};

}  // namespace contention
