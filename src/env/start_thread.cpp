#include "env/start_thread.hpp"

#include <shoal/error.hpp>

#include "env/host.hpp"
#include "env/thread_name.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <system_error>
#include <utility>

namespace shoal::env {

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

}  // namespace shoal::env
