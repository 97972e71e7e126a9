#pragma once
// Events of traces: one table of kinds, and the record of 32 bytes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace shoal::trace {

/// Groups of kinds that a run chooses from. The values are bits of Options::categories.
enum class Category : std::uint8_t { task, message, sched, term, event, memory, user };
inline constexpr std::size_t kCategoryCount = 7;
inline constexpr std::uint32_t kAllCategories = (1U << kCategoryCount) - 1;

[[nodiscard]] constexpr std::uint32_t bit_of(Category category) {
  return 1U << static_cast<std::uint32_t>(category);
}
[[nodiscard]] std::string_view name_of(Category category);
/// Reads "task,message" or "all"; an empty optional for a name that no category has.
[[nodiscard]] std::optional<std::uint32_t> parse_categories(std::string_view text);

/// Part that an event plays. Readers draw kinds that they do not know by their role.
enum class Role : std::uint8_t { instant, begin, end, counter };

/// Kinds of events. Files store the numbers: they never change, new ones are appended.
enum class Kind : std::uint8_t {
  none = 0,
  task_created = 1,  // id: task, value: 1 + worker that it is bound to or 0, name
  task_ready,        // id: task, value: id of the task or message that made it ready or 0
  task_started,      // id: task, value: priority as int64, name
  task_parked,       // id: task, name: what it waits for, value: join of the parts of that or 0
  task_resumed,      // id: task
  task_ended,        // id: task
  message_sent,      // id: message, value: peer_bytes(target, size), name: handler
  message_received,  // id: message, value: peer_bytes(source, size)
  message_handled,   // id: message, begin of its handler, name: handler; value 1: the one before
                     // it on the track ends here, without a message_done
  message_done,      // id: message, end of its handler
  large_phase,       // id: message, value: peer_bytes(peer, size), name: phase
  window_full,       // value: target rank, begin
  window_open,       // value: target rank, end
  collective_begin,  // id: collective, name
  collective_end,    // id: collective
  steal,             // id: task or 0, value: worker that it was taken from
  sleep,             // begin
  wake,              // end
  progress_begin,    // a worker handles messages
  progress_end,      // value: messages handled
  wave,              // id: scope, value: number of the wave
  event_fired,       // id: event, value: target rank, name
  event_matched,     // id: event, value: task, name
  memory_counter,    // value: bytes as double, name
  span_begin,        // id: span, value: of the program, name
  span_end,          // id: span
  mark,              // value: of the program, name
  counter,           // value: double, name
  lost,              // value: events dropped before this one, name unused
  region_begin,      // recording goes on
  region_end,        // recording pauses
  thread_counter,    // value: nanoseconds as double since the thread began, name: of what
  task_submitted,    // id: task, created and ready, as what runs there made it so, bound to no
                     // worker; value: join of its dependencies or 0, name
  last = task_submitted,
};

/// Properties of one kind.
struct KindInfo {
  Kind kind = Kind::none;
  Category category = Category::user;
  Role role = Role::instant;
  std::string_view name;
};

/// Table of all kinds, by number. A layer that adds a probe appends a kind here and nowhere else.
[[nodiscard]] const std::array<KindInfo, static_cast<std::size_t>(Kind::last) + 1>& kinds();
[[nodiscard]] const KindInfo& info_of(Kind kind);

/// Number of a text of the file's name table; 0: no name.
using NameId = std::uint32_t;
inline constexpr NameId kMaxNames = 1U << 24U;

/// One event. `time`: ticks of the recording process's clock; nanoseconds since the begin of the
/// run in merged files.
struct Event {
  std::uint64_t time = 0;
  std::uint64_t id = 0;
  std::uint64_t value = 0;
  NameId name = 0;
  std::uint32_t track_and_kind = 0;  // the track in the upper 24 bits

  [[nodiscard]] Kind kind() const { return static_cast<Kind>(track_and_kind & 0xffU); }
  [[nodiscard]] std::uint32_t track() const { return track_and_kind >> 8U; }
  void set(std::uint32_t track, Kind kind) {
    track_and_kind = (track << 8U) | static_cast<std::uint32_t>(kind);
  }
  bool operator==(const Event&) const = default;
};
static_assert(sizeof(Event) == 32);
inline constexpr std::uint32_t kMaxTracks = 1U << 24U;

/// Something known of all tasks, handlers or data of one name. Files store the numbers.
enum class Fact : std::uint8_t {
  place = 1,   // of tasks and handlers: in the source, FILE:LINE: where they are made, or defined
  colour = 2,  // of tasks and handlers: in pictures, as RRGGBB
  datum = 3,   // of a datum of a flow: "BYTES RANK", its size and its owner in the world
};

/// Record of a description, which has no time: part of a task's key, or a dependency. Files store
/// the numbers of the types.
struct Detail {
  enum class Type : std::uint8_t {
    key = 1,         // id: task, bytes: part of the key
    depends_on = 2,  // id: task, bytes: task, message (with kMessageBit) or join that it needs
    fulfilled = 3,   // id: a join of dependencies, bytes: what has fulfilled one, likewise
    joined = 4,      // id: task, bytes: the join that it waits for
    fact = 5,        // id: a Fact about all of one name, bytes: part of "NAME\tVALUE"
    numbers = 6,     // id: task, bytes: its key, which is an int, or a tuple of them
    // 7: kInserted, see src/trace/insertion.hpp
  };
  static constexpr std::size_t kTextBytes = 22;
  static constexpr std::size_t kNumbersMax = kTextBytes / sizeof(std::int32_t);

  std::uint64_t id = 0;
  std::array<char, kTextBytes> bytes{};
  Type type = Type::key;
  std::uint8_t length = 0;  // bytes used; with kGoesOn, the track's next record has more text
  static constexpr std::uint8_t kGoesOn = 0x80;
};
static_assert(sizeof(Detail) == 32);

/// In descriptions: the identifier is that of a message. Those of tasks and spans are others.
inline constexpr std::uint64_t kMessageBit = std::uint64_t{1} << 63U;

/// Identifiers of tasks, messages and spans are unique in a run: they name the rank, and the number
/// of the track in the rank, that made them. 0: none.
[[nodiscard]] constexpr std::uint64_t make_id(std::uint32_t rank, std::uint32_t number_in_rank,
                                              std::uint32_t count) {
  return (std::uint64_t{rank} << 42U) | (std::uint64_t{number_in_rank & 0x3ffU} << 32U) | count;
}
[[nodiscard]] constexpr std::uint32_t rank_of_id(std::uint64_t id) {
  return static_cast<std::uint32_t>(id >> 42U);
}

/// The other rank of a message, and its size up to 1 TiB, in one value.
[[nodiscard]] constexpr std::uint64_t peer_bytes(std::uint32_t peer, std::uint64_t size_bytes) {
  constexpr std::uint64_t kMost = (std::uint64_t{1} << 40U) - 1;
  return (std::uint64_t{peer} << 40U) | (size_bytes < kMost ? size_bytes : kMost);
}
[[nodiscard]] constexpr std::uint32_t peer_of(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 40U);
}
[[nodiscard]] constexpr std::uint64_t size_bytes_of(std::uint64_t value) {
  return value & ((std::uint64_t{1} << 40U) - 1);
}

/// Names of a thread's counters.
inline constexpr std::string_view kRanName = "ran on a processor";
inline constexpr std::string_view kKeptWaitingName = "waited for a processor";
/// Reason for which a task with retries is parked, between two of its attempts.
inline constexpr std::string_view kFailedAttempt = "a failed attempt";

/// Largest part of a payload that a window counts, which `message sent` records.
inline constexpr std::uint64_t kPayloadWeightMax = 64UL << 10U;

}  // namespace shoal::trace
