// k-means clustering (Lloyd's algorithm): each rank keeps some of the points; rank 0 combines the
// sums of all and gives the new centres to all, by copies or without (STAPL-RTS thesis, 6.5.6).

#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include "common/conclude.hpp"
#include "common/input_error.hpp"
#include "common/options.hpp"
#include "kmeans/clusters.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using kmeans::first_centres;
using kmeans::point;
using kmeans::Sums;
using kmeans::Values;
using shoal::all_ranks;
using shoal::Immutable;
using shoal::Rank;

class Kmeans : public shoal::DistributedObject<Kmeans> {
 public:
  Kmeans(shoal::Team& team, std::vector<Values> points, std::size_t clusters, Values centres)
      : DistributedObject(team),
        points_(std::move(points)),
        total_(clusters),
        centres_(std::move(centres)) {}

  void add(const Sums& sums) { total_ += sums; }
  void set_copy(Values centres) { centres_ = std::move(centres); }
  void set_shared(const Immutable<Values>& centres) { shared_ = centres; }
  [[nodiscard]] const Values& centres() const { return shared_ ? shared_.get() : centres_; }

  void iterate(bool elide) {
    Sums own(total_.counts.size());
    for (const Values& one : points_) own.add(centres(), one);
    async<&Kmeans::add>(Rank(0), std::move(own));
    fence();
    if (rank() == 0) {
      Values next = total_.centres(centres());
      if (elide) {
        async<&Kmeans::set_shared>(all_ranks, shoal::make_immutable<Values>(std::move(next)));
      } else {
        async<&Kmeans::set_copy>(all_ranks, next);
      }
      total_ = Sums(total_.counts.size());
    }
    fence();
  }

 private:
  std::vector<Values> points_;
  Sums total_;  // on rank 0
  Values centres_;
  Immutable<Values> shared_;
};

int run(shoal::World& world) {
  cli::App app("k-means clustering", "kmeans");
  std::uint64_t points = 20000;
  std::size_t clusters = 16;
  int iterations = 10;
  std::uint64_t seed = 1;
  bool elide = true;
  app.add_option("--points", points, "number of points")->check(cli::range(1, 1 << 28));
  app.add_option("--clusters", clusters, "number of clusters")->check(cli::range(1, 4096));
  app.add_option("--iterations", iterations, "iterations")->check(cli::range(1, 100000));
  app.add_option("--seed", seed, "seed of the points");
  std::string json;
  apps::add_json_option(app, json);
  app.add_flag("--elide,!--copy", elide, "share the centres within a process, or copy them");
  return apps::run_app(app, world, [&] {
    if (clusters > points) {
      throw apps::InputError(
          fmt::format("--clusters {}: there are only {} points", clusters, points));
    }
    const auto size = static_cast<std::uint64_t>(world.size());
    Values centres = first_centres(points, clusters, seed);
    std::vector<Values> own;
    for (auto i = static_cast<std::uint64_t>(world.rank().value()); i < points; i += size) {
      own.push_back(point(i, clusters, seed));
    }
    Kmeans solver(world, std::move(own), clusters, centres);
    const std::uint64_t begin_ns = world.now_ns();
    for (int i = 0; i < iterations; ++i) solver.iterate(elide);
    const double seconds = static_cast<double>(world.now_ns() - begin_ns) * 1e-9;
    if (world.rank() == 0) centres = kmeans::centres_alone(points, clusters, seed, iterations);
    centres = world.broadcast(centres, Rank(0));
    return apps::conclude(
        world, solver.centres() == centres,
        fmt::format("kmeans: {} points, {} clusters, {} iterations on {} ranks, {}", points,
                    clusters, iterations, world.size(),
                    elide ? "centres shared" : "centres copied"),
        seconds, json);
  });
}

}  // namespace

int main(int argc, char** argv) { return shoal::run(argc, argv, run); }
