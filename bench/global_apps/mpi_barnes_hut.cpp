// Barnes-Hut with MPI alone: every rank has all bodies in each step, and builds the trees of all
// ranks (replicated trees). The trees are those of apps/barnes_hut, so the results are, too.

#include "cli/command_line.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <deque>
#include <span>
#include <utility>

#include "barnes_hut/octree.hpp"
#include "common/stopwatch.hpp"
#include "ranks/mpi_side.hpp"

namespace {

using barnes_hut::Body;
using barnes_hut::Mass;
using barnes_hut::Vector;
using bench::MpiWorld;

constexpr std::size_t kGroup = 32;  // bodies that go through the trees together

struct Options {
  bench::RunOptions run;
  std::size_t bodies = 2000;
  int steps = 2;
  double tolerance = 0.5;
  double step_time = 0.025;
  std::uint64_t seed = 1;
  bool checksum = false;
};

struct Cell : barnes_hut::CellData {
  std::array<const Cell*, 8> children{};
};

class Simulation {
 public:
  Simulation(const MpiWorld& world, const Options& options) : world_(world), options_(options) {
    const std::vector<Body> all = barnes_hut::plummer(options.bodies, options.seed);
    masses_.resize(all.size());
    for (int rank = 0; rank <= world.size(); ++rank) {
      begins_.push_back(all.size() * static_cast<std::size_t>(rank) /
                        static_cast<std::size_t>(world.size()));
    }
    for (int rank = 0; rank < world.size(); ++rank) {
      offsets_.push_back(doubles(begins_[index(rank)]));
      counts_.push_back(doubles(begins_[index(rank) + 1] - begins_[index(rank)]));
    }
    own_.assign(all.begin() + static_cast<std::ptrdiff_t>(first()),
                all.begin() + static_cast<std::ptrdiff_t>(begins_[index(world.rank()) + 1]));
    accelerations_.resize(own_.size());
  }

  /// Returns the time of all steps. The error is that of the last step's accelerations.
  double run() {
    double seconds = 0;
    for (int step = 0; step < options_.steps; ++step) {
      MPI_Barrier(MPI_COMM_WORLD);
      const bench::Stopwatch watch;
      exchange();
      find_accelerations();
      MPI_Barrier(MPI_COMM_WORLD);
      seconds += watch.seconds();
      if (step + 1 == options_.steps) find_error();
      barnes_hut::move_bodies(own_, accelerations_, options_.step_time);
    }
    return seconds;
  }
  [[nodiscard]] double error() const { return error_; }
  [[nodiscard]] std::uint64_t checksum() const {
    std::uint64_t sum = barnes_hut::checksum(own_, first());
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return sum;
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  static int doubles(std::size_t masses) {
    static_assert(sizeof(Mass) == 4 * sizeof(double));
    return static_cast<int>(4 * masses);
  }
  [[nodiscard]] std::size_t first() const { return begins_[index(world_.rank())]; }

  void exchange() {
    const std::vector<Mass> own = barnes_hut::masses_of(own_);
    MPI_Allgatherv(own.data(), doubles(own.size()), MPI_DOUBLE, masses_.data(), counts_.data(),
                   offsets_.data(), MPI_DOUBLE, MPI_COMM_WORLD);
  }

  void find_accelerations() {
    std::deque<Cell> cells;
    std::vector<const Cell*> roots(begins_.size() - 1);
    for (std::size_t rank = 0; rank + 1 < begins_.size(); ++rank) {
      const std::vector<Mass> part(
          masses_.begin() + static_cast<std::ptrdiff_t>(begins_[rank]),
          masses_.begin() + static_cast<std::ptrdiff_t>(begins_[rank + 1]));
      if (part.empty()) continue;
      const auto store = [&cells](const Cell& cell) -> const Cell* {
        return &cells.emplace_back(cell);
      };
      roots[rank] = barnes_hut::build_tree<Cell>(part, barnes_hut::cube_around(part), store);
    }
    const auto read = [](const Cell* cell) { return cell; };
    std::ranges::fill(accelerations_, Vector{});
    for (std::size_t begin = 0; begin < own_.size(); begin += kGroup) {
      const std::size_t count = std::min(own_.size() - begin, kGroup);
      const auto bodies = std::span(std::as_const(own_)).subspan(begin, count);
      const auto accelerations = std::span(accelerations_).subspan(begin, count);
      barnes_hut::Attraction attraction(bodies, accelerations, options_.tolerance, read);
      for (std::size_t i = 0; i < roots.size(); ++i) {  // the own tree first
        const Cell* const root = roots[(index(world_.rank()) + i) % roots.size()];
        if (root != nullptr) attraction.add_tree(root);
      }
    }
  }

  void find_error() {
    std::vector<Body> all;
    for (const Mass& mass : masses_) all.push_back({mass.position, {}, mass.mass});
    const barnes_hut::ErrorSums sums = barnes_hut::error_sums(all, first(), accelerations_);
    error_ = sum_of_all(sums.squares).relative_to(sum_of_all(sums.reference));
  }
  [[nodiscard]] apps::SumOfSquares sum_of_all(const apps::SumOfSquares& own) const {
    apps::SumOfSquares sum;
    for (const double norm : world_.gather_all(own.norm())) sum.add(norm);
    return sum;
  }

  const MpiWorld& world_;
  const Options& options_;
  std::vector<std::size_t> begins_;  // of each rank's bodies, and the end
  std::vector<int> counts_;          // of doubles of each rank
  std::vector<int> offsets_;
  std::vector<Mass> masses_;  // of all ranks
  std::vector<Body> own_;
  std::vector<Vector> accelerations_;
  double error_ = 0;
};

int run(const MpiWorld& world, const Options& options) {
  bench::limit_time(options.run);
  std::vector<bench::Sample> samples;
  std::uint64_t checksum = 0;
  for (int i = 0; i < options.run.repeat; ++i) {
    Simulation simulation(world, options);
    const double seconds = simulation.run();
    checksum = simulation.checksum();
    samples.push_back({seconds, simulation.error() < barnes_hut::error_bound(options.tolerance)});
  }
  if (world.rank() != 0) return 0;
  const bench::Sample sample = median(samples);
  if (options.checksum) std::printf("checksum %016" PRIx64 "\n", checksum);
  return bench::finish({"barnes_hut",
                        "mpi",
                        {{"ms", sample.seconds * 1e3}},
                        {{"bodies", static_cast<std::int64_t>(options.bodies)},
                         {"steps", std::int64_t{options.steps}},
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
    app.add_option("--bodies", options.bodies, "Bodies")->check(cli::range(2, 100'000'000));
    app.add_option("--steps", options.steps, "Time steps")->check(cli::range(1, 1'000'000));
    app.add_option("--tolerance", options.tolerance, "Width of a cell by its distance, at most")
        ->check(cli::range(0.0, 1.5));
    app.add_option("--seed", options.seed, "Seed of the bodies");
    app.add_flag("--checksum", options.checksum, "Print a hash of all bodies at the end");
  };
  const bench::Program program{"barnes_hut_mpi", "Barnes-Hut with MPI alone.", add_options,
                               [&] { return run(world, options); }};
  return bench::run_program(program, bench::arguments_of(argc, argv), world.rank() == 0);
}
