#include "sched/worker_fibers.hpp"

#include <shoal/detail/base/sanitizers.hpp>

#include <cxxabi.h>
#include <memory>
#include <utility>

#ifdef SHOAL_ASAN
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif

namespace shoal::sched {

namespace context = boost::context;

namespace {

// The stack belongs to its owner, not to the fiber.
class BorrowedStack {
 public:
  explicit BorrowedStack(const env::Stack& stack) {
    context_.sp = stack.bottom + stack.size_bytes;
    context_.size = stack.size_bytes;
  }
  context::stack_context allocate() { return context_; }
  void deallocate(context::stack_context& /*stack*/) noexcept {}

 private:
  context::stack_context context_;
};

}  // namespace

// Not inlined, and opaque: __cxa_get_globals() is declared constant, and a fiber may be on another
// thread after a switch.
[[gnu::noinline]] Fiber::ExceptionState& Fiber::thread_exception_state() {
  asm volatile("" ::: "memory");
  // Itanium C++ ABI, 2.2.2: __cxa_eh_globals begins with these two members.
  return *reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals());
}

Fiber::Fiber() : is_thread_(true) {
  if constexpr (kThreadSanitizer) context_for_tsan_.adopt_thread();
}

Fiber::Fiber(const env::Stack& stack, Entry entry, void* argument)
    : float_control_(FloatControl::here()),
      stack_bottom_(stack.bottom),
      stack_bytes_(stack.size_bytes),
      is_thread_(false) {
  if constexpr (kThreadSanitizer) context_for_tsan_.begin(stack_bottom_);
  context_ = context::fiber(std::allocator_arg, BorrowedStack(stack),
                            [this, entry, argument](context::fiber&&) {
                              arrived();
                              entry(argument);
                              Fiber& next = *leave_to_;
                              before_switch_to(next, true);
                              return std::move(next.context_);
                            });
}

Fiber::~Fiber() {
  if (context_) abandon();
  if constexpr (kThreadSanitizer) context_for_tsan_.end();
}

// Frames are left only when the world was given up after an error. To unwind them would run code of
// the program whose surroundings are gone. The objects that they own leak on purpose, and the leak
// is not reported.
void Fiber::abandon() {
  [[maybe_unused]] const auto* const kept = new context::fiber(std::move(context_));
#ifdef SHOAL_ASAN
  __lsan_ignore_object(kept);
  __lsan_register_root_region(stack_bottom_, stack_bytes_);
#endif
}

void Fiber::switch_to(Fiber& from, Fiber& to) {
  from.before_switch_to(to, false);
  std::move(to.context_).resume_with([&from](context::fiber&& previous) {
    from.context_ = std::move(previous);
    return context::fiber();
  });
  from.arrived();
}

void Fiber::before_switch_to(Fiber& to, bool ends) {
  ExceptionState& of_thread = thread_exception_state();
  exceptions_ = of_thread;
  if constexpr (!FloatControl::kept_by_switch) float_control_ = FloatControl::here();
  to.thread_exceptions_ = &of_thread;
  to.came_from_ = this;
  static_cast<void>(ends);
#ifdef SHOAL_ASAN
  __sanitizer_start_switch_fiber(ends ? nullptr : &fake_stack_, to.stack_bottom_, to.stack_bytes_);
#endif
  if constexpr (kThreadSanitizer) context_for_tsan_.leave(to.context_for_tsan_);
}

void Fiber::arrived() {
#ifdef SHOAL_ASAN
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(fake_stack_, &bottom, &size);
  if (came_from_->is_thread_) {  // now its bounds are known
    came_from_->stack_bottom_ = bottom;
    came_from_->stack_bytes_ = size;
  }
#endif
  if constexpr (kThreadSanitizer) context_for_tsan_.arrive();
  *thread_exceptions_ = exceptions_;
  if constexpr (!FloatControl::kept_by_switch) float_control_.apply();
}

}  // namespace shoal::sched
