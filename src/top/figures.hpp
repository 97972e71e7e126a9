#pragma once
// Figures of a running rank, as its process publishes them for shoal-top.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
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

}  // namespace shoal::top
