#include <shoal/detail/base/held_locks.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace shoal::detail {

#if defined(SHOAL_ASAN) || defined(SHOAL_TSAN)

namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): of one thread
thread_local int t_held_locks = 0;

}  // namespace

// Out of line, both: a task that was parked may go on in another thread, and compilers keep the
// address of a thread_local across that. ThreadSanitizer takes the ranks of a simulated world,
// which one thread steps, for threads that share the count.
[[gnu::noinline]] __attribute__((no_sanitize("thread"))) void count_held_locks(
    int change) noexcept {
  t_held_locks += change;
}

[[gnu::noinline]] __attribute__((no_sanitize("thread"))) void check_no_lock_held(
    std::string_view what, std::string_view text) noexcept {
  if (t_held_locks == 0) return;
  const std::string all =
      fmt::format("shoal: internal error: {} while the thread holds {} locks of shoal: {}\n", what,
                  t_held_locks, text);
  [[maybe_unused]] const auto written = write(STDERR_FILENO, all.data(), all.size());
  std::abort();
}

#else  // a library without a sanitizer has no room for the count: it may be loaded by dlopen()

void count_held_locks(int /*change*/) noexcept {}
void check_no_lock_held(std::string_view /*what*/, std::string_view /*text*/) noexcept {}

#endif

}  // namespace shoal::detail
