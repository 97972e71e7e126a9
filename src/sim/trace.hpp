#pragma once
// Events of a simulated run: their hash, and a comparison with the recording of an earlier run.

#include <shoal/detail/env/env.hpp>
#include <shoal/detail/net/packet.hpp>

#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shoal::sim {

enum class EventKind : std::uint32_t { step, departure, arrival, payload, mishap };

/// One event. The meaning of a and b depends on the kind: see describe().
struct TraceEvent {
  std::uint64_t time_ns = 0;
  EventKind kind = EventKind::step;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t lane = 0;
  std::uint64_t detail = 0;
  bool operator==(const TraceEvent&) const = default;
};

/// "12.345 us: packet 3 from rank 1 to rank 2 arrives".
std::string describe(const TraceEvent& event);
/// Returns the text of an event without its time.
std::string what_happened(const TraceEvent& event);

/// A file without a name, in which one run records and the next one compares.
class Recording {
 public:
  /// Errors: Error when no temporary file can be made.
  Recording();
  void add(const TraceEvent& event);
  /// Writes added events to the file, visible to other processes.
  void flush();
  /// The file's position becomes that of the first event.
  void rewind();
  /// Reads the next event; returns false at the end.
  bool read(TraceEvent& event);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

class Trace {
 public:
  /// Records the events as well, or compares them with recorded ones.
  void record_into(Recording& recording) { recording_ = &recording; }
  void compare_with(Recording& recording) { expected_ = &recording; }

  /// Adds an event, or compares it with the recorded one. **Errors**: Error naming the first event
  /// that differs.
  void add(const TraceEvent& event);
  /// Called when the run has ended. **Errors**: as add(), when the recorded run has further events.
  void finish();

  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// The last events, the oldest first, one line each.
  [[nodiscard]] std::vector<std::string> last_lines() const;

 private:
  std::uint64_t hash_ = 0;
  std::uint64_t count_ = 0;
  std::deque<TraceEvent> last_;
  Recording* recording_ = nullptr;
  Recording* expected_ = nullptr;
};

/// Keeps the last events: of tasks and handlers by name, and of packets by their messages. Events
/// of completion detection are recorded on request only.
class Log {
 public:
  /// The names of the messages in a packet.
  using Names = std::function<std::vector<std::string>(const net::Packet&)>;

  /// Keeps up to `count` happenings from now on.
  void keep(std::size_t count, bool detection, Names names);
  [[nodiscard]] bool is_kept() const { return count_max_ > 0; }

  /// Logs an event of a task or handler at a worker.
  void add(std::uint64_t time_ns, int rank, int worker, env::Happening what,
           const std::string& name);
  /// A packet leaves or arrives.
  void add(const TraceEvent& event, const net::Packet& packet);
  /// Anything else that a trace has.
  void add(const TraceEvent& event);

  /// Returns the lines in the order of time, with a column for each rank if there are few.
  [[nodiscard]] std::vector<std::string> lines(int ranks) const;

 private:
  struct Entry {
    std::uint64_t time_ns = 0;
    std::uint32_t rank = 0;
    char sign = ' ';
    std::string text;
  };
  void add(Entry entry);

  std::size_t count_max_ = 0;
  bool detection_ = false;
  Names names_;
  std::deque<Entry> entries_;
};

}  // namespace shoal::sim
