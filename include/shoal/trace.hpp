#pragma once
// Traces of programs: spans, marks and counters of their own. Free of cost while nothing is
// recorded, except for one load and a branch.

#include <shoal/detail/trace/probes.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

namespace shoal::trace {

/// Records events of this process from now on, until pause(): a region of interest. With
/// --trace-paused, nothing is recorded before. SIGUSR2 resumes or pauses, too. Events of other
/// threads near the edge may be in or out. **Caller**: any thread. Idempotent; without effect while
/// there is no recording.
void resume();
/// Records no events of this process until resume(). **Caller**: any thread. Idempotent; without
/// effect while there is no recording.
void pause();
/// Returns whether nothing is recorded: the recording is paused, or there is none.
[[nodiscard]] bool is_paused();

/// Returns the number of a text in the events of this process; 0 while nothing is recorded.
/// **Caller**: any thread. **Cost**: a look-up by content in a table of the thread; a lock when a
/// text is new to it.
[[nodiscard]] NameId intern(std::string_view text) noexcept;

/// A text that lasts as long as the program, and remembers its number:
/// `static constinit trace::Name kPanel("panel");`
class Name {
 public:
  /// `text` is a string literal.
  explicit constexpr Name(const char* text) : text_(text) {}
  Name(const Name&) = delete;
  Name& operator=(const Name&) = delete;

  /// The text.
  [[nodiscard]] const char* text() const { return text_; }
  /// Returns the number of the name; 0 if there is no memory for it. **Caller**: any thread.
  [[nodiscard]] NameId id() const noexcept {
    const NameId known = known_.load(std::memory_order_relaxed);
    return known != 0 ? known : find();
  }

 private:
  NameId find() const noexcept;

  const char* text_;
  // All threads write the same number; relaxed: a thread that does not see it looks it up again.
  mutable std::atomic<NameId> known_{0};
};

/// Interval of a trace, from construction to destruction. It may end on another worker than the one
/// that it began on, if its task parks in between.
class Span {
 public:
  /// Begins the span; `value` is shown with it.
  explicit Span(const Name& name, std::uint64_t value = 0) noexcept {
    if (on<Category::user>()) [[unlikely]]
      begin(name.id(), value);
  }
  /// Begins the span; looks the name up, which takes longer than with a Name. `value` is shown with
  /// it.
  explicit Span(std::string_view name, std::uint64_t value = 0) noexcept {
    if (on<Category::user>()) [[unlikely]]
      begin(detail::name_of(name), value);
  }
  ~Span() {
    if (id_ != 0) [[unlikely]]
      detail::record(Kind::span_end, id_, 0, 0);
  }
  Span(Span&& other) noexcept : id_(std::exchange(other.id_, 0)) {}
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  Span& operator=(Span&&) = delete;

 private:
  void begin(NameId name, std::uint64_t value) noexcept {
    id_ = new_id();
    detail::record(Kind::span_begin, id_, value, name);
  }
  std::uint64_t id_ = 0;
};

/// Records a moment of the program. **Caller**: any thread.
inline void mark(const Name& name, std::uint64_t value = 0) {
  if (on<Category::user>()) [[unlikely]]
    detail::record(Kind::mark, 0, value, name.id());
}
/// Records a moment of the program, by a name that intern() looks up. **Caller**: any thread.
inline void mark(std::string_view name, std::uint64_t value = 0) {
  if (on<Category::user>()) [[unlikely]]
    detail::record(Kind::mark, 0, value, detail::name_of(name));
}

/// Records the value that a quantity of the program has from now on. **Caller**: any thread.
inline void counter(const Name& name, double value) {
  if (on<Category::user>()) [[unlikely]] {
    detail::record(Kind::counter, 0, std::bit_cast<std::uint64_t>(value), name.id());
  }
}
/// Records the value that a quantity has from now on, by a name that intern() looks up. **Caller**:
/// any thread.
inline void counter(std::string_view name, double value) {
  if (on<Category::user>()) [[unlikely]] {
    detail::record(Kind::counter, 0, std::bit_cast<std::uint64_t>(value), detail::name_of(name));
  }
}

}  // namespace shoal::trace
