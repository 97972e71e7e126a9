#include "env/start_thread.hpp"

#include <shoal/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <system_error>
#include <utility>

#include "env/host.hpp"

namespace shoal::env {

void name_this_thread(const std::string& name) {
  constexpr std::size_t kLongest = 15;  // of Linux
  static_cast<void>(pthread_setname_np(pthread_self(), name.substr(0, kLongest).c_str()));
}

std::thread start_thread(const std::string& name, const std::string& purpose,
                         Function<void()> function) {
  try {
    return std::thread([name, purpose, run = std::move(function)] {
      name_this_thread(name);
      try {
        run();
      } catch (const std::exception& error) {  // no memory to begin with, say: takes none itself
        write_to_standard_error({"shoal: error: ", purpose, " cannot go on: ", error.what(), "\n"});
        std::abort();
      }
    });
  } catch (const std::system_error& error) {
    throw Error(fmt::format(
        "no thread for {}: {}. Raise the limit on threads and processes (`ulimit -u`, or pids.max "
        "of the job's or container's cgroup), or choose fewer --workers (EDAT_NUM_WORKERS with "
        "edat.h) or --ranks",
        purpose, error.code().message()));
  }
}

void unbind_current_thread() {
  std::array<cpu_set_t, 8> all{};  // 8192 processors
  std::memset(all.data(), 0xff, sizeof all);
  static_cast<void>(sched_setaffinity(0, sizeof all, all.data()));
}

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
