#pragma once
// One execution context: a stack that can be left and entered again. Wraps Boost.Context and tells
// AddressSanitizer and ThreadSanitizer of every switch.

#include <shoal/detail/sync/strand.hpp>

#include "base/float_control.hpp"
#include "env/stack_memory.hpp"

#include <boost/context/fiber.hpp>

#include <cstddef>

namespace shoal::sched {

class Fiber {
 public:
  using Entry = void (*)(void* argument);

  /// Makes the context of the stack of the calling thread.
  Fiber();
  /// Runs entry(argument) on `stack` when first entered; when it returns, the context given to
  /// leave_to() is entered and this one has ended. The stack outlives the fiber.
  Fiber(const env::Stack& stack, Entry entry, void* argument);
  /// Destroys a fiber that has ended, or that of a thread. A fiber that still has frames is
  /// abandoned with them.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Leaves `from`, which must be running, and enters `to`. Returns when `from` is entered again,
  /// perhaps by another thread.
  static void switch_to(Fiber& from, Fiber& to);
  /// Sets the fiber to enter when the entry function returns; that calls it last.
  void leave_to(Fiber& to) { leave_to_ = &to; }

  /// Returns whether no frames are left on the fiber, or no other fiber has entered it.
  [[nodiscard]] bool has_ended() const { return !context_; }
  /// Stack of the fiber; unknown for a thread's own.
  [[nodiscard]] env::Stack stack() const {
    return {static_cast<std::byte*>(const_cast<void*>(stack_bottom_)), stack_bytes_};
  }

 private:
  /// Gives up the stack with its objects, which are never destroyed.
  void abandon();
  void before_switch_to(Fiber& to, bool ends);
  void arrived();

  // The C++ runtime keeps the caught exceptions of a thread in thread-local storage; each fiber
  // keeps its own copy, or a wait() inside a catch block would mix them up.
  struct ExceptionState {
    void* caught = nullptr;
    unsigned int uncaught_count = 0;
  };
  static ExceptionState& thread_exception_state();

  boost::context::fiber context_;
  Fiber* leave_to_ = nullptr;
  Fiber* came_from_ = nullptr;
  ExceptionState exceptions_;
  [[maybe_unused]] FloatControl float_control_;  // where a switch does not keep it
  ExceptionState* thread_exceptions_ = nullptr;  // of the thread that entered this fiber last
  const void* stack_bottom_ = nullptr;
  std::size_t stack_bytes_ = 0;
  [[maybe_unused]] void* fake_stack_ = nullptr;  // AddressSanitizer's
  sync::StackContext context_for_tsan_;          // ThreadSanitizer's
  [[maybe_unused]] bool is_thread_;
};

}  // namespace shoal::sched
