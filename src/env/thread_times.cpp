#include "env/thread_times.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <ctime>

namespace shoal::env {

// The file has the time on a processor as well, which lags behind that of the clock.
ThreadTimes times_of_this_thread() noexcept {
  ThreadTimes times;
  const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return times;
  std::array<char, 128> text{};
  const ssize_t length = read(file, text.data(), text.size() - 1);
  close(file);
  std::uint64_t ran_ns = 0;
  std::uint64_t kept_waiting_ns = 0;
  const bool is_read = length > 0 && std::sscanf(text.data(), "%" SCNu64 " %" SCNu64, &ran_ns,
                                                 &kept_waiting_ns) == 2;
  timespec now{};
  if (!is_read || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) return times;
  constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
  times.ran_ns = static_cast<std::uint64_t>(now.tv_sec) * kNsPerSecond +
                 static_cast<std::uint64_t>(now.tv_nsec);
  times.kept_waiting_ns = kept_waiting_ns;
  times.known = true;
  return times;
}

}  // namespace shoal::env
