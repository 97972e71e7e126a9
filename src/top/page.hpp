#pragma once
// The page that each process of a run publishes: a header, and a slot for each rank of the world.

#include "env/shared_memory.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal::top {

enum class WorkerState : std::uint8_t {
  unknown,
  asleep,   // waits for work
  looking,  // awake, without a task
  task,
  handler,  // of a message
};

/// A text of bounded length, cut off where it is longer.
template <std::size_t kSize>
struct Text {
  std::array<char, kSize> bytes{};

  Text() = default;
  explicit Text(std::string_view text) { text.copy(bytes.data(), kSize - 1); }
  [[nodiscard]] std::string_view view() const {
    const std::string_view all(bytes.data(), kSize);
    return all.substr(0, all.find('\0'));
  }
};

struct WorkerFigures {
  WorkerState state = WorkerState::unknown;
  Text<31> task;  // that it runs, as far as it has a name
};

/// Rates are those of the period that ended with the sample.
struct RankFigures {
  std::int32_t rank = 0;
  std::int32_t process = 0;
  std::int64_t pid = 0;
  Text<64> host;
  std::uint64_t sampled_ns = 0;   // by the clock of its host
  std::uint64_t received_ns = 0;  // by the clock of the host that publishes it
  std::uint64_t tasks_run = 0;
  std::uint64_t ready = 0;   // tasks
  std::uint64_t parked = 0;  // tasks
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t bytes_sent = 0;
  double tasks_per_s = 0;
  double messages_sent_per_s = 0;
  double messages_received_per_s = 0;
  double bytes_sent_per_s = 0;
  double busy = 0;                    // share of the period that its workers did not sleep
  std::int32_t fullest_window = -1;   // the rank it leads to; -1: none has bytes in flight
  std::int32_t waiting_senders = 0;   // for any window to open
  std::uint64_t in_flight_bytes = 0;  // in the fullest window
  std::uint64_t window_bytes = 0;     // of each
  std::uint64_t resident_bytes = 0;   // of its process
};

/// One rank and its workers.
struct Sample {
  RankFigures rank;
  std::vector<WorkerFigures> workers;
};

static_assert(std::is_trivially_copyable_v<RankFigures>);
static_assert(sizeof(WorkerFigures) == 32);

[[nodiscard]] std::vector<std::byte> to_bytes(const Sample& sample);
/// Reads a sample from bytes; returns false if they are none.
[[nodiscard]] bool from_bytes(std::span<const std::byte> bytes, Sample& sample);

/// Name of the memory.
inline constexpr const char* kPageName = "shoal-top";

/// Facts of a process that do not change.
struct Facts {
  std::int32_t world_size = 1;
  std::int32_t first_rank = 0;  // of the process
  std::int32_t rank_count = 1;  // of the process
  std::int32_t workers = 1;     // of a rank, at most
  std::int64_t pid = 0;
  Text<96> job;  // the same in all processes of a run, and in no other run
  Text<256> program;
};

/// Bytes that one process writes and others read at the same time. The sequence is odd while the
/// bytes change; 0: they were never written. Each word is written with release and read with
/// acquire: a reader that sees a new word also sees that the sequence has changed.
class Slot {
 public:
  static constexpr std::size_t kHeaderWords = 2;  // sequence, size

  explicit Slot(std::span<std::atomic<std::uint64_t>> words) : words_(words) {}

  /// Writes the bytes; those that do not fit are cut off. **Caller**: one thread at a time.
  void write(std::span<const std::byte> bytes);
  /// Reads the bytes; returns nothing if they were never written, or changed during each attempt.
  [[nodiscard]] static std::optional<std::vector<std::byte>> read(
      std::span<const std::atomic<std::uint64_t>> words);

 private:
  const std::span<std::atomic<std::uint64_t>> words_;
};

/// The page of this process.
class Page {
 public:
  /// Publishes a page. **Errors**: Error when the system refuses the memory.
  explicit Page(const Facts& facts);

  /// Writes the sample of a rank. **Caller**: one thread at a time for each rank.
  void write(int rank, std::span<const std::byte> sample);
  /// A reader looks at the page now.
  [[nodiscard]] bool is_watched() const { return memory_.is_held(); }

 private:
  const Facts facts_;
  const env::PublishedMemory memory_;
};

/// The page of another process.
class PageView {
 public:
  /// Maps the page of another process. **Errors**: Error if it cannot be mapped, or is of another
  /// version of shoal.
  explicit PageView(const env::PublishedPlace& place);

  [[nodiscard]] const Facts& facts() const { return facts_; }
  /// Lets the process know that a reader looks. False: try again later.
  [[nodiscard]] bool watch() const { return memory_.hold(); }
  /// Reads the sample of a rank; returns nothing if the rank has not reported yet.
  [[nodiscard]] std::optional<Sample> read(int rank) const;
  /// Returns whether the page belongs to the process at the place, and not to one from which that
  /// was forked.
  [[nodiscard]] bool is_own() const { return own_; }

 private:
  const env::PublishedView memory_;
  Facts facts_;
  bool own_ = false;
};

/// Pages of the user's processes on this host, by process. `others` counts processes of other
/// versions of shoal, which are left out.
std::vector<std::unique_ptr<PageView>> find_pages(int& others);

/// One rank, as it is shown.
struct Row {
  std::string job;
  std::string program;
  int world_size = 1;
  int rank = 0;
  std::optional<Sample> sample;  // nothing: not heard of yet
  std::uint64_t age_ns = 0;      // of the sample, on this host
};

struct Overview {
  std::vector<Row> rows;                // by job and rank
  int other_versions = 0;               // processes of other versions of shoal
  std::optional<std::int64_t> process;  // that was asked for
};

class Collector {
 public:
  /// All ranks of the user's processes on this host; with a process: all ranks of its run.
  explicit Collector(std::optional<std::int64_t> process) : process_(process) {}

  /// Reads all figures. `now_ns`: CLOCK_MONOTONIC. The processes hear that they are looked at.
  Overview look(std::uint64_t now_ns);

 private:
  void find();

  const std::optional<std::int64_t> process_;
  // By process and job: a process may have several runs at once.
  using Pages = std::map<std::pair<std::int64_t, std::string>, std::unique_ptr<PageView>>;
  Pages pages_;
  int other_versions_ = 0;
};

/// Every row has a sample that was taken since then.
bool is_newer(const Overview& overview, std::uint64_t since_ns, std::uint64_t now_ns);

}  // namespace shoal::top
