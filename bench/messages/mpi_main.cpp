// The side of MPI alone.

#include <stdexcept>

#include "messages/mpi_side.hpp"

namespace {

int run(const bench::MpiWorld& world, const messages::Options& options, double begin_s) {
  bench::limit_time(options.run);
  if (world.size() % 2 != 0) throw std::invalid_argument("start an even number of processes");
  const messages::Side side{"mpi", [&] { return messages::round_trip(world, options); },
                            [&] {
                              return options.packet_bytes > 0
                                         ? messages::packed_rate(world, options)
                                         : messages::item_rate(world, options);
                            },
                            [&] { return messages::bandwidth(world, options); },
                            [&] {
                              static_cast<void>(bench::MpiWorld::all_hold(true));
                              return bench::Sample{messages::now_s() - begin_s, true};
                            }};
  bench::Sample sample = messages::measure(options, side);
  sample.verified = bench::MpiWorld::all_hold(sample.verified);
  if (world.rank() != 0) return 0;
  return messages::finish(
      options, side.name, sample,
      {{"launch", "mpi"}, {"ranks", world.size()}, {"library", bench::MpiWorld::library()}});
}

/// Whether several threads are to call MPI has to be known before the options are parsed.
int thread_level(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument.starts_with("--senders")) return MPI_THREAD_MULTIPLE;
  }
  return MPI_THREAD_SINGLE;
}

}  // namespace

int main(int argc, char** argv) {
  const double begin_s = messages::now_s();
  const bench::MpiWorld world(argc, argv, thread_level(bench::arguments_of(argc, argv)));
  messages::Options options;
  const bench::Program program{"messages_mpi", "Message kernels with MPI alone.",
                               [&](cli::App& app) { messages::add_options(app, options); },
                               [&] { return run(world, options, begin_s); }};
  return bench::run_program(program, bench::arguments_of(argc, argv), world.rank() == 0);
}
