#include "traces/event_cost.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>
#include "cli/command_line.hpp"

#include "common/result.hpp"

namespace traces {

void add_options(cli::App& app, Options& options) {
  add_run_options(app, options.run);
  app.add_option("kernel", options.kernel, "event or task")->required();
  app.add_option("--form", options.form,
                 "on: recorded; off: not recorded; held: recorded into buffers that hold all; "
                 "stamp: time stamp counter and store; clock: clock_gettime() and store");
  app.add_option("--file", options.file, "part of a trace to write");
  app.add_option("--threads", options.threads, "Threads")->check(cli::range(1, 64));
  app.add_option("--events", options.events, "Events of a burst")->check(cli::positive_number());
  app.add_option("--bursts", options.bursts, "Bursts, of which the median counts")
      ->check(cli::positive_number());
  app.add_option("--us", options.us, "Duration of a task")->check(cli::positive_number());
  app.add_option("--tasks", options.tasks, "Tasks of each thread; 0: a second of them");
}

double now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

double slowest_of(std::int64_t count, const std::function<double()>& body) {
  std::vector<double> all(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  threads.reserve(all.size());
  for (double& one : all) threads.emplace_back([&] { one = body(); });
  for (std::thread& thread : threads) thread.join();
  return *std::ranges::max_element(all);
}

double ns_per_event(const Options& options, const std::function<void(std::uint64_t)>& burst) {
  constexpr std::chrono::milliseconds kPause(30);
  const auto count = static_cast<std::uint64_t>(options.events);
  return slowest_of(options.threads, [&] {
    std::vector<double> all;
    for (std::int64_t i = 0; i < options.bursts; ++i) {
      const double begin_ns = now_ns();
      burst(count);
      all.push_back((now_ns() - begin_ns) / static_cast<double>(count));
      std::this_thread::sleep_for(kPause);
    }
    return bench::median(std::move(all));
  });
}

}  // namespace traces
