// Invocations of distributed objects, and active messages that do the same.

#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include "cli/command_line.hpp"

#include "common/result.hpp"
#include "common/stopwatch.hpp"
#include "ranks/program.hpp"

namespace {

using shoal::Future;
using shoal::Rank;
using shoal::World;

constexpr std::int64_t kInFlight = 64;

struct Options {
  std::string kernel;
  std::int64_t count = 10'000;
  bench::RunOptions run;
};

class Sink : public shoal::DistributedObject<Sink> {
 public:
  explicit Sink(shoal::Team& team) : DistributedObject(team) {}
  void put(std::int64_t index, std::int64_t value) {
    sum_ += index * value;
    ++count_;
  }
  // NOLINTNEXTLINE(readability-convert-member-functions-to-static): is invoked
  [[nodiscard]] std::int64_t next(std::int64_t value) const { return value + 1; }
  [[nodiscard]] std::int64_t sum() const { return sum_; }
  [[nodiscard]] std::int64_t count() const { return count_; }

 private:
  std::int64_t sum_ = 0;
  std::int64_t count_ = 0;
};

// --- one way: rank 0 sends two numbers `count` times; the time ends when all have arrived

template <class Send>
bench::Sample stream(World& world, const Options& options, Sink& sink, const Send& send) {
  const Rank receiver(world.size() - 1);
  world.barrier();
  const bench::Stopwatch watch;
  if (world.rank() == 0) {
    for (std::int64_t i = 0; i < options.count; ++i) send(receiver, i);
  }
  sink.fence();
  const double seconds = watch.seconds();
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < options.count; ++i) sum += i * (i + 1);
  const bool is_receiver = world.rank() == receiver;
  return {seconds, !is_receiver || (sink.sum() == sum && sink.count() == options.count)};
}

bench::Sample one_way(World& world, const Options& options) {
  Sink sink(world);
  if (options.kernel == "tunnel") {
    auto put = shoal::bind<&Sink::put>(sink, shoal::any_rank);
    return stream(world, options, sink, [&](Rank to, std::int64_t i) { put(to, i, i + 1); });
  }
  if (options.kernel == "unordered") {
    const auto unordered = sink.unordered();
    return stream(world, options, sink,
                  [&](Rank to, std::int64_t i) { unordered.async<&Sink::put>(to, i, i + 1); });
  }
  if (options.kernel == "async") {
    return stream(world, options, sink,
                  [&](Rank to, std::int64_t i) { sink.async<&Sink::put>(to, i, i + 1); });
  }
  const auto put =
      world.make_am([&](std::int64_t index, std::int64_t value) { sink.put(index, value); });
  return stream(world, options, sink, [&](Rank to, std::int64_t i) { put.send(to, i, i + 1); });
}

/// To objects of two teams on the same ranks, by turns.
bench::Sample two_teams(World& world, const Options& options) {
  Sink sink(world);
  const auto same = [](int rank) { return rank; };
  shoal::Team team(world, world.size(), same, same);
  Sink inner(team);
  const bench::Sample sample = stream(world, options, sink, [&](Rank to, std::int64_t i) {
    sink.async<&Sink::put>(to, i, i + 1);
    inner.async<&Sink::put>(to, i, i + 1);
  });
  const bool is_receiver = world.rank() == world.size() - 1;
  inner.fence();
  return {sample.seconds, sample.verified && (!is_receiver || inner.sum() == sink.sum())};
}

// --- round trips, one at a time or 64 in flight

bench::Sample calls(World& world, const Options& options, std::int64_t in_flight) {
  Sink sink(world);
  const Rank target(world.size() - 1);
  world.barrier();
  const bench::Stopwatch watch;
  bench::Sample sample;
  if (world.rank() == 0) {
    std::deque<Future<std::int64_t>> futures;
    for (std::int64_t i = 0; i < options.count; ++i) {
      if (static_cast<std::int64_t>(futures.size()) == in_flight) {
        sample.verified &= futures.front().get() == i - in_flight + 1;
        futures.pop_front();
      }
      futures.push_back(sink.call<&Sink::next>(target, i));
    }
    for (Future<std::int64_t>& one : futures) one.get();
  }
  sample.seconds = watch.seconds();
  sink.fence();
  return sample;
}

/// Handlers answer handlers: no future, no task.
bench::Sample answers(World& world, const Options& options, std::int64_t in_flight) {
  const Rank target(world.size() - 1);
  std::int64_t sent = 0;
  std::int64_t answered = 0;
  double end_s = 0;
  const bench::Stopwatch* clock = nullptr;
  std::function<void()> send_next;
  const auto answer = world.make_am([&](std::int64_t /*value*/) {
    if (sent < options.count) send_next();
    if (++answered == options.count) end_s = clock->seconds();
  });
  const auto ask = world.make_am([&](std::int64_t value) { answer.send(Rank(0), value + 1); });
  send_next = [&] { ask.send(target, sent++); };
  world.barrier();
  const bench::Stopwatch watch;
  clock = &watch;
  for (std::int64_t i = 0; world.rank() == 0 && i < in_flight && i < options.count; ++i)
    send_next();
  world.wait();
  return {end_s, world.rank() != 0 || answered == options.count};
}

// --- a team made by one rank, and the first invocation on all of its members

bench::Sample teams(World& world, const Options& options) {
  bench::Sample sample;
  world.barrier();
  for (std::int64_t i = 0; world.rank() == 0 && i < options.count; ++i) {
    const bench::Stopwatch watch;
    const shoal::Handle<Sink> handle =
        shoal::construct<Sink>(world, shoal::RankSet::range(Rank(0), world.size())).get();
    for (const std::int64_t one : handle.call<&Sink::next>(shoal::all_ranks, i).get()) {
      sample.verified &= one == i + 1;
    }
    sample.seconds += watch.seconds();
    shoal::ObjectDeleter<Sink>()(handle);
  }
  world.wait();
  return sample;
}

bench::Sample run_once(World& world, const Options& options) {
  if (options.kernel == "call") return calls(world, options, 1);
  if (options.kernel == "call_64") return calls(world, options, kInFlight);
  if (options.kernel == "answer") return answers(world, options, 1);
  if (options.kernel == "answer_64") return answers(world, options, kInFlight);
  if (options.kernel == "answer_1024") return answers(world, options, 1024);
  if (options.kernel == "construct") return teams(world, options);
  if (options.kernel == "two_teams") return two_teams(world, options);
  return one_way(world, options);
}

int run(World& world, const Options& options) {
  bench::limit_time(options.run);
  std::vector<bench::Sample> samples;
  for (int i = 0; i < options.run.repeat; ++i) samples.push_back(run_once(world, options));
  bench::Sample sample = bench::median(samples);
  sample.verified = world.allreduce(sample.verified, std::logical_and<>());
  if (world.rank() != 0) return 0;
  const double each_ns = sample.seconds * 1e9 / static_cast<double>(options.count);
  const char* const launch = world.launch() == shoal::Launch::mpi ? "mpi" : "embedded";
  return bench::finish({options.kernel,
                        "shoal",
                        {{"each_ns", each_ns}},
                        {{"launch", launch},
                         {"ranks", world.size()},
                         {"workers", world.worker_count()},
                         {"count", options.count}}},
                       sample.verified);
}

void add_options(cli::App& app, Options& options) {
  bench::add_run_options(app, options.run);
  app.add_option("kernel", options.kernel, "Kernel to measure")
      ->required()
      ->check(cli::one_of({"message", "async", "unordered", "tunnel", "call", "call_64", "answer",
                           "answer_64", "answer_1024", "construct", "two_teams"}));
  app.add_option("--count", options.count, "Operations")
      ->check(cli::range(std::int64_t{1}, std::int64_t{1} << 40));
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](World& world) {
    Options options;
    const bench::Program program{"objects_shoal",
                                 "Invocations of distributed objects, and active messages; --help "
                                 "lists the options of shoal.",
                                 [&](cli::App& app) { add_options(app, options); },
                                 [&] { return run(world, options); }};
    return bench::run_program(program, {world.args().begin() + 1, world.args().end()},
                              world.rank() == 0);
  });
}
