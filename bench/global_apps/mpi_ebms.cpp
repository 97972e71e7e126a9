// Particle transport with MPI alone and memory servers (K. G. Felker et al., 2013): the last ranks
// hold the cross sections and answer requests for bands, the others track particles.

#include "cli/command_line.hpp"

#include <array>
#include <stdexcept>

#include "common/stopwatch.hpp"
#include "ebms/physics.hpp"
#include "ranks/mpi_side.hpp"

namespace {

using bench::MpiWorld;

constexpr int kRequest = 1;  // tag: the number of a band, or -1 from a tracker that has finished
constexpr int kData = 2;     // tag: the cross sections of the band

struct Options {
  bench::RunOptions run;
  ebms::Options transport;
  int servers = 1;
};

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// The bands of a server: every `servers`-th one. Serves until all trackers have finished.
class Server {
 public:
  Server(const Options& options, int number) : options_(options) {
    for (int band = number; band < options.transport.bands; band += options.servers) {
      std::vector<double>& data = bands_.emplace_back();
      for (std::size_t i = 0; i < options.transport.points; ++i) {
        data.push_back(ebms::absorption_at(band, i));
      }
    }
  }
  void serve(int trackers) {
    while (trackers > 0) {
      int band = 0;
      MPI_Status status{};
      MPI_Recv(&band, 1, MPI_INT, MPI_ANY_SOURCE, kRequest, MPI_COMM_WORLD, &status);
      if (band < 0) {
        --trackers;
        continue;
      }
      const std::vector<double>& data = bands_[index(band / options_.servers)];
      MPI_Send(data.data(), static_cast<int>(data.size()), MPI_DOUBLE, status.MPI_SOURCE, kData,
               MPI_COMM_WORLD);
    }
  }

 private:
  const Options& options_;
  std::vector<std::vector<double>> bands_;
};

class Tracker {
 public:
  Tracker(const Options& options, int number, int trackers)
      : options_(options),
        trackers_(trackers),
        particles_(ebms::particles_of(options.transport, number, trackers)) {}

  ebms::Tally run() {
    std::vector<double> data(options_.transport.points);
    std::vector<double> next(options_.transport.points);
    const bool prefetch = options_.transport.prefetch;
    const int bands = options_.transport.bands;
    MPI_Request fetch = request(0, data);
    for (int band = 0; band < bands; ++band) {
      MPI_Wait(&fetch, MPI_STATUS_IGNORE);
      const bool more = band + 1 < bands;
      if (more && prefetch) fetch = request(band + 1, next);
      track_all(band, data);
      if (more && !prefetch) fetch = request(band + 1, next);
      std::swap(data, next);
    }
    tally_.slowed_down = particles_.size();
    for (const ebms::Particle& particle : particles_) tally_.ends += end_hash(particle, bands);
    for (int server = 0; server < options_.servers; ++server) send(-1, server);
    return tally_;
  }

 private:
  void send(int band, int server) const {
    MPI_Send(&band, 1, MPI_INT, trackers_ + server, kRequest, MPI_COMM_WORLD);
  }
  [[nodiscard]] MPI_Request request(int band, std::vector<double>& to) const {
    MPI_Request receive = MPI_REQUEST_NULL;
    const int server = band % options_.servers;
    MPI_Irecv(to.data(), static_cast<int>(to.size()), MPI_DOUBLE, trackers_ + server, kData,
              MPI_COMM_WORLD, &receive);
    send(band, server);
    return receive;
  }
  void track_all(int band, const std::vector<double>& data) {
    std::erase_if(particles_, [&](ebms::Particle& particle) {
      return !ebms::track(particle, band, options_.transport, data, tally_);
    });
  }

  const Options& options_;
  const int trackers_;
  std::vector<ebms::Particle> particles_;
  ebms::Tally tally_;
};

/// The sums of all ranks, on rank 0.
ebms::Tally sum_of(const ebms::Tally& own) {
  const std::array<std::uint64_t, 4> from{own.collisions, own.absorbed, own.slowed_down, own.ends};
  std::array<std::uint64_t, 4> to{};
  MPI_Reduce(from.data(), to.data(), 4, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  return {to[0], to[1], to[2], to[3]};
}

int run(const MpiWorld& world, const Options& options) {
  const int trackers = world.size() - options.servers;
  if (trackers < 1) throw std::invalid_argument("start more ranks than --servers");
  bench::limit_time(options.run);
  std::vector<bench::Sample> samples;
  for (int i = 0; i < options.run.repeat; ++i) {
    ebms::Tally tally;
    double seconds = 0;
    if (world.rank() < trackers) {
      Tracker tracker(options, world.rank(), trackers);
      MPI_Barrier(MPI_COMM_WORLD);
      const bench::Stopwatch watch;
      tally = sum_of(tracker.run());
      seconds = watch.seconds();
    } else {
      Server server(options, world.rank() - trackers);
      MPI_Barrier(MPI_COMM_WORLD);
      server.serve(trackers);
      sum_of({});
    }
    if (world.rank() == 0) {
      samples.push_back({seconds, tally == ebms::transport_serially(options.transport)});
    }
  }
  if (world.rank() != 0) return 0;
  const bench::Sample sample = median(samples);
  return bench::finish({"ebms",
                        "mpi",
                        {{"ms", sample.seconds * 1e3}},
                        {{"particles", options.transport.particles},
                         {"servers", std::int64_t{options.servers}},
                         {"ranks", std::int64_t{world.size()}},
                         {"library", MpiWorld::library()}}},
                       sample.verified);
}

}  // namespace

int main(int argc, char** argv) {
  const MpiWorld world(argc, argv, MPI_THREAD_SINGLE);
  Options options;
  const auto add_options = [&options](cli::App& app) {
    bench::add_run_options(app, options.run);
    ebms::Options& transport = options.transport;
    app.add_option("--particles", transport.particles, "Particles")
        ->check(cli::range(std::int64_t{1}, std::int64_t{1} << 40));
    app.add_option("--bands", transport.bands, "Energy bands")->check(cli::range(1, 100'000));
    app.add_option("--points", transport.points, "Points of the cross sections of a band")
        ->check(cli::range(2, 100'000'000));
    app.add_flag("--prefetch", transport.prefetch, "Request the next band while one is tracked");
    app.add_option("--servers", options.servers, "Ranks that hold the cross sections")
        ->check(cli::range(1, 1'000'000));
  };
  const bench::Program program{"ebms_mpi", "Particle transport with MPI alone.", add_options,
                               [&] { return run(world, options); }};
  return bench::run_program(program, bench::arguments_of(argc, argv), world.rank() == 0);
}
