// The side of MPI alone: packets for each destination; what concerns the own block is done at once.

#include "common/stopwatch.hpp"
#include "irregular/kernels.hpp"
#include "irregular/mpi_exchange.hpp"

namespace {

using bench::MpiWorld;
using irregular::Exchange;
using irregular::Options;
using irregular::Share;
using irregular::Word;

/// Collective; the time of the slowest.
template <class Work>
double timed(const Work& work) {
  MPI_Barrier(MPI_COMM_WORLD);
  const bench::Stopwatch watch;
  work();
  double seconds = watch.seconds();
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

bench::Sample histogram(const MpiWorld& world, const Share& share, const Options& options) {
  std::vector<Word> counters = share.make_counters();
  const auto work = [&] {
    Exchange<std::uint32_t> updates(world, 0, options.packet_bytes,
                                    [&](int, std::span<const std::uint32_t> places) {
                                      for (const std::uint32_t place : places) ++counters[place];
                                    });
    irregular::Stream visits = share.stream();
    for (std::int64_t i = 0; i < share.count(); ++i) {
      const Word index = visits.next();
      const int owner = share.layout().owner(index);
      const std::uint32_t place = share.layout().place(index);
      if (owner == world.rank()) {
        ++counters[place];
      } else if (updates.push(owner, place)) {
        do {
          updates.poll();
        } while (updates.is_crowded());
      }
    }
    updates.end(world);
    while (!updates.is_over()) updates.poll();
  };
  const double seconds = timed(work);
  Word surplus = share.surplus(counters);
  MPI_Allreduce(MPI_IN_PLACE, &surplus, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return {seconds, surplus == 0};
}

struct Request {
  std::uint32_t place;
  std::uint32_t slot;
};
struct Answer {
  Word value;
  std::uint32_t slot;
};

bench::Sample index_gather(const MpiWorld& world, const Share& share, const Options& options) {
  const std::vector<Word> values = share.make_values();
  std::vector<Word> found(static_cast<std::size_t>(share.count()));
  const auto work = [&] {
    Exchange<Answer> answers(world, 1, options.packet_bytes, [&](int, std::span<const Answer> all) {
      for (const Answer& one : all) found[one.slot] = one.value;
    });
    Exchange<Request> requests(world, 0, options.packet_bytes,
                               [&](int source, std::span<const Request> all) {
                                 for (const Request& one : all) {
                                   answers.push(source, {values[one.place], one.slot});
                                 }
                               });
    const auto poll = [&] {
      requests.poll();
      answers.poll();
    };
    irregular::Stream visits = share.stream();
    for (std::uint32_t slot = 0; slot < found.size(); ++slot) {
      const Word index = visits.next();
      const int owner = share.layout().owner(index);
      const std::uint32_t place = share.layout().place(index);
      if (owner == world.rank()) {
        found[slot] = values[place];
      } else if (requests.push(owner, {place, slot})) {
        do {
          poll();
        } while (requests.is_crowded() || answers.is_crowded());
      }
    }
    requests.end(world);
    while (!requests.has_all()) poll();
    answers.end(world);
    while (!requests.is_over() || !answers.is_over()) poll();
  };
  const double seconds = timed(work);
  return {seconds, MpiWorld::all_hold(share.is_found(found))};
}

int run(const MpiWorld& world, const Options& options) {
  bench::limit_time(options.run);
  const Share share(options, world.rank(), world.size());
  const irregular::Side side{"mpi", [&] { return histogram(world, share, options); },
                             [&] { return index_gather(world, share, options); }};
  const bench::Sample sample = irregular::measure(options, side);
  if (world.rank() != 0) return 0;
  return irregular::finish(
      options, side.name, sample,
      {{"launch", "mpi"}, {"ranks", world.size()}, {"library", MpiWorld::library()}});
}

}  // namespace

int main(int argc, char** argv) {
  const MpiWorld world(argc, argv, MPI_THREAD_SINGLE);
  Options options;
  const bench::Program program{"irregular_mpi", "Random updates and reads with MPI alone.",
                               [&](cli::App& app) { irregular::add_options(app, options); },
                               [&] { return run(world, options); }};
  return bench::run_program(program, bench::arguments_of(argc, argv), world.rank() == 0);
}
