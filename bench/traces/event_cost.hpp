#pragma once
// Nanoseconds of an event, the same for all tracers.

#include <cstdint>
#include <functional>
#include <string>

#include "ranks/program.hpp"

namespace traces {

struct Options {
  bench::RunOptions run;
  std::string kernel;
  std::string form = "on";
  std::string file;
  std::int64_t threads = 1;
  std::int64_t events = 50'000;  // of a burst: fewer than a buffer holds
  std::int64_t bursts = 41;
  std::int64_t us = 1;  // of a task
  std::int64_t tasks = 0;
};

void add_options(cli::App& app, Options& options);

/// Nanoseconds of the clock that the machine's programs share.
[[nodiscard]] double now_ns();

/// Median time of an event over bursts of `options.events`, in the slowest of `options.threads`
/// threads. Between the bursts are pauses in which a tracer writes its buffers out.
[[nodiscard]] double ns_per_event(const Options& options,
                                  const std::function<void(std::uint64_t count)>& burst);

/// Largest of body() in `count` threads at once.
[[nodiscard]] double slowest_of(std::int64_t count, const std::function<double()>& body);

}  // namespace traces
