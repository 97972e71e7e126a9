#include "cli/output.hpp"

#include <pthread.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <system_error>

namespace cli {

// Nor does a pipe without a reader end the program: the signal that it raises is taken back.
void tell(const std::string& text) noexcept {
  sigset_t pipe;
  sigset_t before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  const timespec now{};
  if (sigismember(&before, SIGPIPE) == 0) sigtimedwait(&pipe, nullptr, &now);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

int code_after_output(int code, const std::string& program) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  const std::string reason =
      errno != 0 ? ": " + std::generic_category().message(errno) : std::string();
  tell(program + ": the results cannot be written to standard output" + reason + "\n");
  return code != 0 ? code : 1;
}

}  // namespace cli
