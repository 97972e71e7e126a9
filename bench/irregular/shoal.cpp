// The side of shoal: a message for each update, also those of the own block, and two for each read.
// Embedded with --ranks 2, or in the processes of an MPI launch.

#include <shoal/shoal.hpp>

#include <algorithm>
#include <functional>

#include "common/stopwatch.hpp"
#include "irregular/kernels.hpp"

namespace {

using irregular::Share;
using irregular::Word;
using shoal::Rank;

/// Lets all ranks send, and waits until everything has been handled: the time of the slowest.
template <class Send>
double timed(shoal::World& world, const Send& send) {
  world.barrier();
  const bench::Stopwatch watch;
  send();
  world.wait();
  return world.allreduce(watch.seconds(), [](double a, double b) { return std::max(a, b); });
}

bench::Sample histogram(shoal::World& world, const Share& share) {
  std::vector<Word> counters = share.make_counters();
  const auto update = world.make_am([&](std::uint32_t place) { ++counters[place]; });
  const double seconds = timed(world, [&] {
    irregular::Stream visits = share.stream();
    for (std::int64_t i = 0; i < share.count(); ++i) {
      const Word index = visits.next();
      update.send(Rank(share.layout().owner(index)), share.layout().place(index));
    }
  });
  return {seconds, world.allreduce(share.surplus(counters), std::plus<>()) == 0};
}

struct Request {
  std::int32_t from;
  std::uint32_t place;
  std::uint32_t slot;
};

bench::Sample index_gather(shoal::World& world, const Share& share) {
  const std::vector<Word> values = share.make_values();
  std::vector<Word> found(static_cast<std::size_t>(share.count()));
  const auto answer = world.make_am([&](std::uint32_t slot, Word value) { found[slot] = value; });
  const auto read = world.make_am([&](const Request& request) {
    answer.send(Rank(request.from), request.slot, values[request.place]);
  });
  const double seconds = timed(world, [&] {
    irregular::Stream visits = share.stream();
    for (std::uint32_t slot = 0; slot < found.size(); ++slot) {
      const Word index = visits.next();
      read.send(Rank(share.layout().owner(index)),
                Request{int{world.rank()}, share.layout().place(index), slot});
    }
  });
  const bool good = share.is_found(found);
  return {seconds, world.allreduce(good, [](bool a, bool b) { return a && b; })};
}

int run(shoal::World& world, const irregular::Options& options) {
  bench::limit_time(options.run);
  const Share share(options, world.rank(), world.size());
  const irregular::Side side{"shoal", [&] { return histogram(world, share); },
                             [&] { return index_gather(world, share); }};
  const bench::Sample sample = irregular::measure(options, side);
  if (world.rank() != 0) return 0;
  const char* const launch = world.launch() == shoal::Launch::mpi ? "mpi" : "embedded";
  return irregular::finish(
      options, side.name, sample,
      {{"launch", launch}, {"ranks", world.size()}, {"workers", world.worker_count()}});
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    irregular::Options options;
    const bench::Program program{
        "irregular_shoal",
        "Random updates and reads with shoal; --help lists the options of shoal.",
        [&](cli::App& app) { irregular::add_options(app, options); },
        [&] { return run(world, options); }};
    return bench::run_program(program, {world.args().begin() + 1, world.args().end()},
                              world.rank() == 0);
  });
}
