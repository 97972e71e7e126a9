#pragma once
// Events of a simulated run: their hash, and a comparison with the recording of an earlier run.

#include <cstdint>
#include <cstdio>
#include <deque>
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
/// The same without the time.
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
  /// False at the end.
  bool read(TraceEvent& event);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

class Trace {
 public:
  /// Events are also recorded, or compared with recorded ones.
  void record_into(Recording& recording) { recording_ = &recording; }
  void compare_with(Recording& recording) { expected_ = &recording; }

  /// **Errors**: Error naming the first event that differs from the recorded one.
  void add(const TraceEvent& event);
  /// The run has ended. Errors: as add(), when the recorded run went on.
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

}  // namespace shoal::sim
