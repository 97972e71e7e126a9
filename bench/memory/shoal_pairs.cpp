// The side of shoal: ranks of one process, or those of an MPI launch.

#include <shoal/shoal.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "common/resident.hpp"
#include "memory/pairs.hpp"

namespace {

using bench::memory::PairOptions;
using bench::memory::Usage;

/// While all ranks do nothing. Ranks of one process count it once.
std::int64_t resident_of_all(shoal::World& world) {
  world.barrier();
  const bool counts = world.launch() == shoal::Launch::mpi || world.rank() == 0;
  const std::int64_t own = counts ? bench::resident_bytes() : 0;
  return world.allreduce(own, std::plus<>());
}

int traffic(shoal::World& world, const PairOptions& options) {
  std::int64_t received = 0;
  const auto message = world.make_am([&received](std::int64_t one) { received += one; });
  const int peers = bench::memory::peer_count(options, world.size());
  Usage usage;
  usage.before = resident_of_all(world);
  for (int peer = 1; peer <= peers; ++peer) {
    const shoal::Rank to((world.rank().value() + peer) % world.size());
    for (int i = 0; i < options.messages; ++i) message.send(to, 1);
  }
  world.wait();
  usage.after = resident_of_all(world);
  const bool good = received == std::int64_t{peers} * options.messages;
  const bool all_good = world.allreduce(good, [](bool a, bool b) { return a && b; });
  if (world.rank() != 0) return all_good ? 0 : 1;
  return bench::memory::finish_traffic(options, "shoal", world.size(), usage, all_good);
}

/// Memory of an idle world of `ranks` ranks, in a process of its own.
std::int64_t idle_bytes(int ranks) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error("pipe() failed");
  const pid_t child = fork();
  if (child == 0) {
    const std::string count = std::to_string(ranks);
    const std::array<const char*, 5> argv{"idle", "--ranks", count.c_str(), "--workers", "1"};
    std::int64_t bytes = 0;
    shoal::run(static_cast<int>(argv.size()), argv.data(), [&](shoal::World& world) {
      const std::int64_t all = resident_of_all(world);
      if (world.rank() == 0) bytes = all;
    });
    _exit(write(ends[1], &bytes, sizeof bytes) == sizeof bytes ? 0 : 1);
  }
  std::int64_t bytes = 0;
  const bool good = child > 0 && read(ends[0], &bytes, sizeof bytes) == sizeof bytes;
  if (child > 0) waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  if (!good) throw std::runtime_error("a world of idle ranks failed");
  return bytes;
}

/// Worlds of three sizes tell what grows with the pairs of ranks from what grows with the ranks.
int idle(const PairOptions& options) {
  const int few = options.most / 4;
  const std::array<std::int64_t, 3> bytes{idle_bytes(few), idle_bytes(2 * few),
                                          idle_bytes(4 * few)};
  const double slope_first = static_cast<double>(bytes[1] - bytes[0]) / few;
  const double slope_last = static_cast<double>(bytes[2] - bytes[1]) / (2 * few);
  const double per_square = (slope_last - slope_first) / (3 * few);
  return bench::finish({options.kernel,
                        "shoal",
                        {{"kib_per_pair", 2 * per_square / 1024},
                         {"kib_per_rank", slope_first / 1024},
                         {"mib", static_cast<double>(bytes[2]) / (1024 * 1024)}},
                        {{"ranks", 4 * few}}},
                       true);
}

bench::Program program_of(PairOptions& options, std::function<int()> body) {
  return {"memory_shoal_pairs", "Memory of pairs of ranks; --help lists the options of shoal.",
          [&options](cli::App& app) { bench::memory::add_options(app, options); }, std::move(body)};
}

int run(shoal::World& world) {
  PairOptions options;
  const auto body = [&] {
    bench::limit_time(options.run);
    return traffic(world, options);
  };
  return bench::run_program(program_of(options, body),
                            {world.args().begin() + 1, world.args().end()}, world.rank() == 0);
}

}  // namespace

int main(int argc, char** argv) {
  // The idle worlds are started here, each with its number of ranks.
  if (argc > 1 && std::string(argv[1]) == "idle") {
    PairOptions options;
    const auto body = [&] {
      bench::limit_time(options.run);
      return idle(options);
    };
    return bench::run_program(program_of(options, body), {argv + 1, argv + argc}, true);
  }
  return shoal::run(argc, argv, run);
}
