#pragma once
// Logical threads of a simulated world, for ThreadSanitizer.

#include <shoal/detail/base/sanitizers.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

// A simulated world runs on one thread, where no two accesses are ever at the same time. Under
// --sim-races each task, and the handlers of each rank, run as a strand: ThreadSanitizer takes each
// strand for a thread, ordered with others only by what shoal promises. Code of shoal between tasks
// belongs to no strand and is not watched. Without ThreadSanitizer everything here is empty.
// docs/design/simulation.md says which edges there are, and where.

namespace shoal::sync {

namespace detail {

// Defined in src/sync/strands, or without ThreadSanitizer in src/sync/strands_none.
[[nodiscard]] bool watches_strands();
[[nodiscard]] void* current_strand();
/// Calls `call` with a copy of the `size_bytes` at `argument` on the strand's part of the stack.
void run_on_strand(void*& strand, void (*call)(void*), const void* argument,
                   std::size_t size_bytes);
void name_strand(void*& strand, const char* name);
void end_strand(void*& strand);
void publish(const void* token);
void observe(const void* token);
void pass_on(const void* from, const void* to);
void observe_all();
[[nodiscard]] const void* shared_token(std::uint64_t number);
void begin_quiet();
void end_quiet();
[[nodiscard]] int lift_quiet();
void restore_quiet(int depth);

template <class F>
void run_copy(void*& strand, const F& f) {
  static_assert(std::is_trivially_copyable_v<F>);
  run_on_strand(
      strand, [](void* copy) { (*static_cast<F*>(copy))(); }, &f, sizeof f);
}

}  // namespace detail

/// Returns whether the calling thread drives a simulated world with --sim-races.
[[nodiscard]] inline bool watches_strands() {
  if constexpr (kThreadSanitizer) return detail::watches_strands();
  return false;
}

// Edges between strands. A strand that observes a token comes after all that published it before.
inline void publish([[maybe_unused]] const void* token) {
  if constexpr (kThreadSanitizer) detail::publish(token);
}
inline void observe([[maybe_unused]] const void* token) {
  if constexpr (kThreadSanitizer) detail::observe(token);
}
/// Orders later observers of `to` after the strands that published `from`.
inline void pass_on([[maybe_unused]] const void* from, [[maybe_unused]] const void* to) {
  if constexpr (kThreadSanitizer) detail::pass_on(from, to);
}
/// Returns the token of a number that several ranks know. Two numbers may have the same one.
[[nodiscard]] inline const void* shared_token([[maybe_unused]] std::uint64_t number) {
  if constexpr (kThreadSanitizer) return detail::shared_token(number);
  return nullptr;
}
/// Orders the calling strand after everything that was done on strands so far.
inline void observe_all() {
  if constexpr (kThreadSanitizer) detail::observe_all();
}

/// A logical thread. Runs one function at a time.
class Strand {
 public:
  Strand() = default;
  ~Strand() { end(); }
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;

  /// Runs a copy of f as a part of this strand. The caller's stack belongs to no strand: f captures
  /// values, and refers to nothing on that stack.
  template <class F>
  [[gnu::always_inline]] void run(F f) {
    if constexpr (kThreadSanitizer) {
      detail::run_copy(state_, f);
    } else {
      f();
    }
  }
  /// The next run() begins another strand.
  void end() {
    if constexpr (kThreadSanitizer) detail::end_strand(state_);
  }
  /// Name in the reports of ThreadSanitizer from now on, until end().
  void set_name([[maybe_unused]] const std::string& name) {
    if constexpr (kThreadSanitizer) detail::name_strand(state_, name.c_str());
  }
  /// Returns whether it has a name, or has run.
  [[nodiscard]] bool is_made() const { return state_ != nullptr; }

 private:
  void* state_ = nullptr;
};

/// Refers to the strand on which it was made, for code that runs on behalf of that strand while the
/// strand waits.
class StrandHere {
 public:
  StrandHere() {
    if constexpr (kThreadSanitizer) state_ = detail::current_strand();
  }
  /// Runs f as a part of the strand, see Strand::run().
  template <class F>
  void run(F f) {
    if constexpr (kThreadSanitizer) {
      if (state_ != nullptr) return detail::run_copy(state_, f);
    }
    f();
  }

 private:
  void* state_ = nullptr;
};

/// Scope in which accesses of the calling strand are not watched, and its locks and atomics order
/// nothing: for code of shoal that all strands share.
class Quiet {
 public:
  Quiet() {
    if constexpr (kThreadSanitizer) detail::begin_quiet();
  }
  ~Quiet() {
    if constexpr (kThreadSanitizer) detail::end_quiet();
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
};

/// Scope within a Quiet in which the strand is watched again: for code of the program.
class Aloud {
 public:
  Aloud() {
    if constexpr (kThreadSanitizer) depth_ = detail::lift_quiet();
  }
  ~Aloud() {
    if constexpr (kThreadSanitizer) detail::restore_quiet(depth_);
  }
  Aloud(const Aloud&) = delete;
  Aloud& operator=(const Aloud&) = delete;

 private:
  [[maybe_unused]] int depth_ = 0;
};

/// Scope in which the calling thread drives a simulated world on strands, if `on`.
/// **Errors**: ConfigError in a shoal without ThreadSanitizer.
class StrandWatch {
 public:
  explicit StrandWatch(bool on);
  ~StrandWatch();
  StrandWatch(const StrandWatch&) = delete;
  StrandWatch& operator=(const StrandWatch&) = delete;

 private:
  bool on_;
};

/// State of a stack in ThreadSanitizer's eyes. For sched::Fiber, under ThreadSanitizer only.
class StackContext {
 public:
  /// Begins a stack of its own, or uses that of the calling thread.
  void begin(const void* stack_bottom);
  void adopt_thread();
  /// Before and after the stack of `to` is entered from this one.
  void leave(const StackContext& to);
  void arrive() const;
  void end();

 private:
  void* thread_ = nullptr;      // fiber of ThreadSanitizer: own_thread_, or that of strand_
  void* strand_ = nullptr;      // that runs on the stack, if any
  void* own_thread_ = nullptr;  // of code between tasks
  const void* bottom_ = nullptr;
  bool quiet_ = false;  // own_thread_ ignores accesses
};

}  // namespace shoal::sync
