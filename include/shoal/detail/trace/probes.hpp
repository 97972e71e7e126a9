#pragma once
// Probes: one inline function each. Off, a probe is one relaxed load of a word and a branch.

#include <shoal/detail/base/inline.hpp>
#include <shoal/detail/base/sanitizers.hpp>
#include <shoal/detail/trace/event.hpp>

#include <atomic>
#include <bit>
#include <cstdint>
#include <source_location>
#include <span>
#include <string_view>

namespace shoal::trace {

namespace detail {

/// Bits 0-6: categories that are recorded now. Bit 7: workers of this process are stepped, and
/// their environment may observe them. Bits 8-31: number of the recording session.
/// The recorder writes; probes read relaxed: an event more or less at the edge of a region does no
/// harm. Hidden: without a detour over the table of offsets, a probe takes two instructions.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): what every probe reads
#if defined(SHOAL_SHARED)  // outside of a shared library of shoal, which exports a pointer
extern std::atomic<std::uint32_t>& g_flags __asm__("shoal_trace_flags");
#else
[[gnu::visibility("hidden")]] extern std::atomic<std::uint32_t> g_flags;
#endif
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
inline constexpr std::uint32_t kSteppedBit = 0x80U;

/// Whether a bit of the mask is set. The assembler text is the load and the branch in two
/// instructions, where compilers take three: they do not fold an atomic load into a test.
template <std::uint32_t mask>
SHOAL_ALWAYS_INLINE inline bool any_set() {
  static_assert(mask != 0 && mask <= 0xffU);
#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(SHOAL_TSAN)
  __asm__ goto("testb %0, %1\n\tjnz %l[is_set]"
               :
               : "i"(mask), "m"(*reinterpret_cast<const unsigned char*>(&g_flags))
               : "cc"
               : is_set);
  return false;
is_set:
  return true;
#else
  return (g_flags.load(std::memory_order_relaxed) & mask) != 0;
#endif
}

/// Records one event on the calling thread's track. Any thread. No lock, no system call; a thread's
/// first event makes its track. **Cost**: see docs/design/traces.md.
void record(Kind kind, std::uint64_t id, std::uint64_t value, NameId name) noexcept;

/// Number of a text, recorded or not: a probe that is under way keeps its name when one recording
/// ends and the next begins meanwhile. Any thread. 0 without memory.
[[nodiscard]] NameId name_of(std::string_view text) noexcept;

}  // namespace detail

/// Returns whether events of any of the categories are recorded now. **Cost**: two instructions.
/// Code with several probes on a hot path calls it once and has a copy of the path that records.
template <Category... categories>
[[nodiscard]] SHOAL_ALWAYS_INLINE inline bool on() {
  return detail::any_set<(bit_of(categories) | ...)>();
}
[[nodiscard]] inline bool on(Category category) {
  return (detail::g_flags.load(std::memory_order_relaxed) & bit_of(category)) != 0;
}

/// Returns whether events of a category are recorded now, or workers are stepped: one test for
/// both, where either needs the slow path.
template <Category category>
[[nodiscard]] SHOAL_ALWAYS_INLINE inline bool is_watched() {
  return detail::any_set<bit_of(category) | detail::kSteppedBit>();
}
/// Makes is_watched() true in this process from now on, as some worker is stepped.
inline void watch_steps() { detail::g_flags.fetch_or(detail::kSteppedBit); }

/// A new identifier of a task, message or span, unique in the run; 0 while nothing is recorded.
[[nodiscard]] std::uint64_t new_id() noexcept;

/// Describes a task by the text of its key, of which 176 bytes are kept. Untimed.
/// **Caller**: behind on(Category::task), since the text takes time to make.
void describe_task(std::uint64_t task, std::string_view key) noexcept;
/// Describes a task by the numbers of its key, at most Detail::kNumbersMax. Untimed.
void describe_task(std::uint64_t task, std::span<const std::int32_t> key) noexcept;
/// `task` needs `other`, a task or a message. Untimed.
void depends_on(std::uint64_t task, std::uint64_t other) noexcept;
/// `by`, a task or a message, has fulfilled one of the dependencies that `join` stands for: of a
/// task that does not exist yet. Untimed.
void fulfilled(std::uint64_t join, std::uint64_t by) noexcept;
/// `task` waits for the dependencies that `join` stands for. Untimed.
void joined(std::uint64_t task, std::uint64_t join) noexcept;

/// Describes all tasks, or handlers, of one name; 176 bytes of both texts are kept. Untimed.
void describe_name(Fact fact, std::string_view name, std::string_view value) noexcept;
/// Describes where tasks or handlers of the name are made or defined. A place that the thread has
/// recorded just before is not recorded again. **Caller**: behind on(Category::task).
void describe_place(std::string_view name, const std::source_location& place) noexcept;

namespace detail {

template <Category category>
inline void probe(Kind kind, std::uint64_t id, std::uint64_t value = 0, NameId name = 0) {
  if (on<category>()) [[unlikely]]
    record(kind, id, value, name);
}

}  // namespace detail

/// Identifier of a task that appears in no trace.
inline constexpr std::uint64_t kHiddenTask = ~std::uint64_t{0};

// Tasks.
/// `bound_to`: 1 + the only worker that may run it; 0: any may.
inline void task_created(std::uint64_t task, std::uint64_t bound_to, NameId name) {
  detail::probe<Category::task>(Kind::task_created, task, bound_to, name);
}
inline void task_ready(std::uint64_t task, std::uint64_t by) {
  detail::probe<Category::task>(Kind::task_ready, task, by);
}
/// It is created, bound to no worker, and made ready by what runs here; `join` stands for its
/// dependencies, and is 0 without any.
inline void task_submitted(std::uint64_t task, std::uint64_t join, NameId name) {
  detail::probe<Category::task>(Kind::task_submitted, task, join, name);
}
inline void task_started(std::uint64_t task, int priority, NameId name) {
  detail::probe<Category::task>(Kind::task_started, task,
                                static_cast<std::uint64_t>(std::int64_t{priority}), name);
}
/// `join` stands for the parts of what it waits for, and is 0 where that is one.
inline void task_parked(std::uint64_t task, NameId reason, std::uint64_t join = 0) {
  detail::probe<Category::task>(Kind::task_parked, task, join, reason);
}
inline void task_resumed(std::uint64_t task) {
  detail::probe<Category::task>(Kind::task_resumed, task);
}
inline void task_ended(std::uint64_t task) {
  detail::probe<Category::task>(Kind::task_ended, task);
}

// Messages.
inline void message_sent(std::uint64_t message, std::uint32_t to, std::uint64_t size_bytes,
                         NameId handler) {
  detail::probe<Category::message>(Kind::message_sent, message, peer_bytes(to, size_bytes),
                                   handler);
}
inline void message_received(std::uint64_t message, std::uint32_t from, std::uint64_t size_bytes) {
  detail::probe<Category::message>(Kind::message_received, message, peer_bytes(from, size_bytes));
}
/// `follows`: the handler of the message before it, on this track, ends here.
inline void message_handled(std::uint64_t message, NameId handler, bool follows = false) {
  detail::probe<Category::message>(Kind::message_handled, message, follows ? 1 : 0, handler);
}
inline void message_done(std::uint64_t message) {
  detail::probe<Category::message>(Kind::message_done, message);
}
inline void large_phase(std::uint64_t message, std::uint32_t peer, std::uint64_t size_bytes,
                        NameId phase) {
  detail::probe<Category::message>(Kind::large_phase, message, peer_bytes(peer, size_bytes), phase);
}
inline void window_full(std::uint32_t to) {
  detail::probe<Category::message>(Kind::window_full, 0, to);
}
inline void window_open(std::uint32_t to) {
  detail::probe<Category::message>(Kind::window_open, 0, to);
}
inline void collective_begin(std::uint64_t id, NameId name) {
  detail::probe<Category::message>(Kind::collective_begin, id, 0, name);
}
inline void collective_end(std::uint64_t id) {
  detail::probe<Category::message>(Kind::collective_end, id);
}

// Scheduling, termination, events, memory.
inline void steal(std::uint64_t task, std::uint32_t victim) {
  if (on<Category::sched>()) [[unlikely]]
    detail::record(Kind::steal, task == kHiddenTask ? 0 : task, victim, 0);
}
inline void sleep() { detail::probe<Category::sched>(Kind::sleep, 0); }
inline void wake() { detail::probe<Category::sched>(Kind::wake, 0); }
inline void progress_begin() { detail::probe<Category::sched>(Kind::progress_begin, 0); }
inline void progress_end(std::uint64_t messages) {
  detail::probe<Category::sched>(Kind::progress_end, 0, messages);
}
/// A thread's time, in nanoseconds since it began; `name`: kRanName or kKeptWaitingName.
inline void thread_counter(NameId name, double ns) {
  detail::probe<Category::sched>(Kind::thread_counter, 0, std::bit_cast<std::uint64_t>(ns), name);
}
inline void wave(std::uint64_t scope, std::uint64_t number) {
  detail::probe<Category::term>(Kind::wave, scope, number);
}
inline void event_fired(std::uint64_t event, std::uint32_t to, NameId name) {
  detail::probe<Category::event>(Kind::event_fired, event, to, name);
}
inline void event_matched(std::uint64_t event, std::uint64_t task, NameId name) {
  detail::probe<Category::event>(Kind::event_matched, event, task, name);
}
inline void memory_counter(NameId name, double bytes) {
  detail::probe<Category::memory>(Kind::memory_counter, 0, std::bit_cast<std::uint64_t>(bytes),
                                  name);
}

}  // namespace shoal::trace
