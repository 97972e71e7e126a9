#include "top/program/terminal.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

namespace shoal::top {

namespace {

// Sequences of ECMA-48, and of xterm for the second screen.
constexpr const char* kEnter = "\x1b[?1049h\x1b[?25l";
constexpr const char* kLeave = "\x1b[?25h\x1b[?1049l";
constexpr const char* kHome = "\x1b[H";
constexpr const char* kClearLine = "\x1b[K";
constexpr const char* kClearBelow = "\x1b[J";

void put(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

winsize size() {
  winsize result{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &result) != 0 || result.ws_col == 0) {
    result.ws_col = 80;
    result.ws_row = 24;
  }
  return result;
}

}  // namespace

Terminal::Terminal() {
  if (isatty(STDOUT_FILENO) == 0 || tcgetattr(STDIN_FILENO, &before_) != 0) {
    throw Error("standard input or output is no terminal: use --once");
  }
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  put(kEnter);
}

Terminal::~Terminal() {
  put(kLeave);
  tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

std::size_t Terminal::columns() const { return size().ws_col; }
std::size_t Terminal::rows() const { return size().ws_row; }

void Terminal::show(const std::vector<std::string>& lines) {
  std::string text = kHome;
  const std::size_t count = std::min(lines.size(), rows());
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text += "\r\n";
    text += lines[i] + kClearLine;
  }
  put(text + kClearBelow);
}

char Terminal::wait_for_key(int descriptor, std::uint64_t timeout_ns) {
  std::array<pollfd, 2> wait{{{STDIN_FILENO, POLLIN, 0}, {descriptor, POLLIN, 0}}};
  constexpr char kEnd = 'q';
  const int ready = poll(wait.data(), wait.size(), static_cast<int>(timeout_ns / 1'000'000));
  if (ready <= 0 || wait[0].revents == 0) return 0;
  char key = 0;
  return read(STDIN_FILENO, &key, 1) == 1 ? key : kEnd;  // the terminal is gone
}

}  // namespace shoal::top
