// Cost of an event of LTTng-UST: starts a session daemon and a session, and itself again in it.

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "common/result.hpp"
#include "traces/event_cost.hpp"

extern "C" void shoal_bench_lttng_events(std::uint64_t count);

namespace {

using traces::Options;

constexpr const char* kInside = "SHOAL_BENCH_IN_LTTNG";

// One thread: the other ones come later.
int call(const std::string& command) {
  return std::system((command + " > /dev/null 2>&1").c_str());  // NOLINT(concurrency-mt-unsafe)
}

void demand(const std::string& command) {
  if (call(command) != 0) throw std::runtime_error("lttng-tools: this fails: " + command);
}

std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  pclose(pipe);
  return text;
}

/// Session with buffers that hold a burst.
class Session {
 public:
  Session() {
    std::filesystem::create_directory(home_);
    setenv("LTTNG_HOME", home_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
    call("lttng-sessiond --daemonize --no-kernel --pidfile=" + pid_file());  // or one is there
    demand(fmt::format("lttng create {} --output={}/trace", name_, home_));
    demand(
        fmt::format("lttng enable-channel --userspace --session={} --subbuf-size=4M "
                    "--num-subbuf=8 bench",
                    name_));
    demand(fmt::format(
        "lttng enable-event --userspace --session={} --channel=bench 'shoal_bench:*'", name_));
    demand("lttng start " + name_);
  }
  ~Session() {
    call("lttng destroy " + name_);
    int daemon = 0;
    if (std::ifstream(pid_file()) >> daemon && daemon > 1) kill(daemon, SIGTERM);
    std::error_code ignored;
    std::filesystem::remove_all(home_, ignored);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Whether all events have been recorded.
  [[nodiscard]] bool is_whole() const {
    call("lttng stop " + name_);
    const std::string text = output_of("lttng list " + name_ + " 2> /dev/null");
    return text.find("Discarded events: 0") != std::string::npos;
  }

 private:
  [[nodiscard]] std::string pid_file() const { return home_ + "/pid"; }

  const std::string name_ = fmt::format("shoal_bench_{}", getpid());
  const std::string home_ = (std::filesystem::temp_directory_path() / name_).string();
};

int run_inside(const Options& options) {
  bench::limit_time(options.run);
  const double ns = ns_per_event(options, shoal_bench_lttng_events);
  std::printf("%.3f\n", ns);
  return 0;
}

int run(const Options& options) {
  const Session session;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string text =
      output_of(fmt::format("{}=1 '{}' event --threads {} --events {} --bursts {}", kInside, self,
                            options.threads, options.events, options.bursts));
  const double ns = text.empty() ? 0 : std::stod(text);
  return bench::finish({options.kernel,
                        "lttng",
                        {{"ns", ns}},
                        {{"threads", options.threads}, {"events", options.events}}},
                       ns > 0 && session.is_whole());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const bool is_inside = std::getenv(kInside) != nullptr;  // NOLINT(concurrency-mt-unsafe)
  const bench::Program program{"trace_events_lttng", "Cost of events of LTTng-UST.",
                               [&](cli::App& app) { traces::add_options(app, options); },
                               [&] { return is_inside ? run_inside(options) : run(options); }};
  return bench::run_program(program, {argv + 1, argv + argc}, true);
}
