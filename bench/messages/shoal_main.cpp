// The side of shoal: embedded with --ranks 2, or in the processes of an MPI launch.

#include <stdexcept>

#include "messages/shoal_side.hpp"

namespace {

int run(shoal::World& world, const messages::Options& options, double begin_s) {
  bench::limit_time(options.run);
  const bool alone = world.size() == 1 && options.kernel == "rate";
  if (world.size() % 2 != 0 && !alone) throw std::invalid_argument("start an even number of ranks");
  const messages::Side side{"shoal", [&] { return messages::round_trip(world, options); },
                            [&] { return messages::rate(world, options); },
                            [&] { return messages::bandwidth(world, options); },
                            [&] {
                              world.barrier();
                              return bench::Sample{messages::now_s() - begin_s, true};
                            }};
  bench::Sample sample = messages::measure(options, side);
  sample.verified = world.allreduce(sample.verified, [](bool a, bool b) { return a && b; });
  if (world.rank() != 0) return 0;
  const char* const launch = world.launch() == shoal::Launch::mpi ? "mpi" : "embedded";
  return messages::finish(
      options, side.name, sample,
      {{"launch", launch}, {"ranks", world.size()}, {"workers", world.worker_count()}});
}

}  // namespace

int main(int argc, char** argv) {
  const double begin_s = messages::now_s();
  return shoal::run(argc, argv, [begin_s](shoal::World& world) {
    messages::Options options;
    const bench::Program program{"messages_shoal",
                                 "Message kernels with shoal; --help lists the options of shoal.",
                                 [&](cli::App& app) { messages::add_options(app, options); },
                                 [&] { return run(world, options, begin_s); }};
    return bench::run_program(program, {world.args().begin() + 1, world.args().end()},
                              world.rank() == 0);
  });
}
