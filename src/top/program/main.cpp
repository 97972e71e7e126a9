// shoal-top: what the ranks of running programs do.

#include <shoal/detail/env/env.hpp>
#include <shoal/error.hpp>
#include <shoal/version.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "env/alarm.hpp"
#include "env/host.hpp"
#include "top/page.hpp"
#include "top/view.hpp"

namespace shoal::top {

/// Restores the terminal when it is destroyed. **Caller**: one at a time.
class Terminal {
 public:
  /// **Errors**: Error if standard input or output is no terminal.
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  [[nodiscard]] std::size_t columns() const;
  [[nodiscard]] std::size_t rows() const;
  /// Shows the first lines that there is room for.
  void show(const std::vector<std::string>& lines);
  /// Waits for a key, until `descriptor` is readable, or until the time is over. 0: no key.
  [[nodiscard]] static char wait_for_key(int descriptor, std::uint64_t timeout_ns);

 private:
  termios before_{};
};

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

namespace {

using namespace shoal::top;  // NOLINT(google-build-using-namespace): its program

constexpr int kNothingRuns = 1;
constexpr int kError = 2;

struct Arguments {
  std::optional<std::int64_t> process;
  double interval_s = 1;
  std::string order = "rank";
  bool once = false;
  bool json = false;
};

Order order_of(const std::string& name) {
  const auto found = std::ranges::find(order_names(), name);
  return static_cast<Order>(found - order_names().begin());
}

// The processes write their figures every second, and more of them once they know that a reader
// looks: waits for news since now, for a few seconds at most.
int show_once(const Arguments& with) {
  constexpr std::uint64_t kLongestNs = 4'000'000'000;
  constexpr std::uint64_t kPauseNs = 50'000'000;
  const auto env = shoal::env::make_thread_env();
  Collector collector(with.process);
  const std::uint64_t begin_ns = env->now_ns();
  Overview overview = collector.look(begin_ns);
  for (std::uint64_t now_ns = begin_ns;
       !is_newer(overview, begin_ns, now_ns) && now_ns - begin_ns < kLongestNs;) {
    shoal::env::sleep_for(kPauseNs);
    now_ns = env->now_ns();
    overview = collector.look(now_ns);
  }
  if (with.json) {
    shoal::env::write_to_standard_output(json_of(overview) + '\n');
  } else {
    const auto lines =
        lines_of(overview, order_of(with.order), std::numeric_limits<std::size_t>::max());
    shoal::env::write_to_standard_output(fmt::format("{}\n", fmt::join(lines, "\n")));
  }
  return overview.rows.empty() ? kNothingRuns : 0;
}

int show_until_quit(const Arguments& with) {
  const auto env = shoal::env::make_thread_env();
  const auto interval_ns = static_cast<std::uint64_t>(with.interval_s * 1e9);
  Collector collector(with.process);
  std::size_t order = static_cast<std::size_t>(order_of(with.order));
  shoal::env::Alarm alarm;
  const shoal::env::AlarmOnSignal on_interrupt(SIGINT, alarm);
  const shoal::env::AlarmOnSignal on_end(SIGTERM, alarm);
  Terminal terminal;
  while (!alarm.wait(0).by_signal) {
    const Overview overview = collector.look(env->now_ns());
    std::vector<std::string> lines = {
        fmt::format("shoal-top: {} ranks, by {}   [s] next order  [q] quit   workers: T task, "
                    "H handler, - looks for work, . asleep",
                    overview.rows.size(), order_names()[order])
            .substr(0, terminal.columns())};
    for (std::string& line : lines_of(overview, static_cast<Order>(order), terminal.columns())) {
      lines.push_back(std::move(line));
    }
    terminal.show(lines);
    const char key = Terminal::wait_for_key(alarm.descriptor(), interval_ns);
    if (key == 'q') break;
    if (key == 's') order = (order + 1) % order_names().size();
  }
  return 0;
}

void add_options(CLI::App& app, Arguments& with) {
  app.add_option("PID", with.process,
                 "a process of a run: shows all ranks of the run, on all hosts; without it, all "
                 "ranks of your processes on this host");
  app.add_flag("--once", with.once, "prints the figures once; exit code 1 when nothing runs");
  app.add_flag("--json", with.json, "with --once: for programs");
  app.add_option("--interval", with.interval_s, "seconds between two updates")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  app.add_option("--sort", with.order, "order of the ranks of a run")
      ->check(CLI::IsMember(order_names()))
      ->capture_default_str();
}

}  // namespace
int main(int argc, char** argv) {
  CLI::App app("Shows what the ranks of running shoal programs do.", "shoal-top");
  app.set_version_flag("--version", "shoal " SHOAL_VERSION);
  Arguments with;
  add_options(app, with);
  try {
    app.parse(argc, argv);
    if (with.json && !with.once) throw shoal::Error("--json: give --once as well");
    return with.once ? show_once(with) : show_until_quit(with);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kError;
  } catch (const std::exception& error) {
    shoal::env::write_to_standard_error({"shoal-top: ", error.what(), "\n"});
    return kError;
  }
}
