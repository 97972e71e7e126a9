#include "env/host.hpp"

#include <shoal/base/error.hpp>

#include <fmt/format.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <vector>

namespace shoal::env {

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

void write_to_standard_error(std::string_view text) {
  std::fflush(stderr);
  while (!text.empty()) {
    const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;  // nobody to tell
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void run_in_silent_child(const std::function<void()>& function) {
  std::fflush(nullptr);  // or the child would write what is buffered a second time
  const pid_t child = fork();
  if (child < 0) {
    throw Error(fmt::format("no second process: {}", std::generic_category().message(errno)));
  }
  if (child > 0) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return;
  }
  const bool silent = std::freopen("/dev/null", "w", stdout) != nullptr &&
                      std::freopen("/dev/null", "w", stderr) != nullptr;
  try {
    // What the program does must not depend on addresses: let them differ.
    const std::vector<char> shift(12'345);
    if (silent) function();
  } catch (...) {  // the parent runs into it, too
  }
  _exit(0);
}

}  // namespace shoal::env
