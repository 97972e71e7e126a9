// k-means clustering (Lloyd's algorithm): each rank keeps some of the points; rank 0 combines the
// sums of all and gives the new centres to all, by copies or without (STAPL-RTS thesis, 6.5.6).

#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include "common/conclude.hpp"
#include "common/input_error.hpp"
#include "common/options.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using shoal::all_ranks;
using shoal::Immutable;
using shoal::Rank;

constexpr std::size_t kDimensions = 4;
using Values = std::vector<std::int64_t>;  // integers: sums do not depend on their order

/// Coordinates of a point: near one of `clusters` random places.
Values point(std::uint64_t index, std::size_t clusters, std::uint64_t seed) {
  std::minstd_rand place(static_cast<std::uint32_t>(index % clusters * 7919 + seed + 1));
  std::minstd_rand noise(static_cast<std::uint32_t>(index * 31 + seed + 17));
  Values values(kDimensions);
  for (std::int64_t& value : values) {
    value = static_cast<std::int64_t>(place() % 100000 * 10 + noise() % 20000);
  }
  return values;
}

/// Sums of the points nearest to each centre, and their numbers.
struct Sums {
  Values sums;
  Values counts;

  explicit Sums(std::size_t clusters) : sums(clusters * kDimensions), counts(clusters) {}
  Sums() = default;
  Sums& operator+=(const Sums& other) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += other.sums[i];
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
    return *this;
  }
  void add(const Values& centres, const Values& one) {
    std::size_t best = 0;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::size_t c = 0; c < counts.size(); ++c) {
      std::int64_t distance = 0;
      for (std::size_t d = 0; d < kDimensions; ++d) {
        const std::int64_t difference = centres[c * kDimensions + d] - one[d];
        distance += difference * difference;
      }
      if (distance < least) {
        least = distance;
        best = c;
      }
    }
    for (std::size_t d = 0; d < kDimensions; ++d) sums[best * kDimensions + d] += one[d];
    ++counts[best];
  }
  /// New centres; one without points stays.
  [[nodiscard]] Values centres(const Values& before) const {
    Values after = before;
    for (std::size_t c = 0; c < counts.size(); ++c) {
      if (counts[c] == 0) continue;
      for (std::size_t d = 0; d < kDimensions; ++d) {
        after[c * kDimensions + d] = sums[c * kDimensions + d] / counts[c];
      }
    }
    return after;
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(sums, counts);
  }
};

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
  CLI::App app("k-means clustering", "kmeans");
  std::uint64_t points = 20000;
  std::size_t clusters = 16;
  int iterations = 10;
  std::uint64_t seed = 1;
  bool elide = true;
  app.add_option("--points", points, "number of points")->check(CLI::Range(1, 1 << 28));
  app.add_option("--clusters", clusters, "number of clusters")->check(CLI::Range(1, 4096));
  app.add_option("--iterations", iterations, "iterations")->check(CLI::Range(1, 100000));
  app.add_option("--seed", seed, "seed of the points");
  app.add_flag("--elide,!--copy", elide, "share the centres within a process, or copy them");
  return apps::run_app(app, world, [&] {
    if (clusters > points) {
      throw apps::InputError(
          fmt::format("--clusters {}: there are only {} points", clusters, points));
    }
    const auto size = static_cast<std::uint64_t>(world.size());
    Values centres;
    for (std::size_t c = 0; c < clusters; ++c) {
      const Values one = point(c * (points / clusters + 1) % points, clusters, seed);
      centres.insert(centres.end(), one.begin(), one.end());
    }
    std::vector<Values> own;
    for (auto i = static_cast<std::uint64_t>(world.rank().value()); i < points; i += size) {
      own.push_back(point(i, clusters, seed));
    }
    Kmeans kmeans(world, std::move(own), clusters, centres);
    const std::uint64_t begin_ns = world.now_ns();
    for (int i = 0; i < iterations; ++i) kmeans.iterate(elide);
    const double seconds = static_cast<double>(world.now_ns() - begin_ns) * 1e-9;
    for (int i = 0; world.rank() == 0 && i < iterations; ++i) {
      Sums sums(clusters);
      for (std::uint64_t one = 0; one < points; ++one)
        sums.add(centres, point(one, clusters, seed));
      centres = sums.centres(centres);
    }
    centres = world.broadcast(centres, Rank(0));
    return apps::conclude(
        world, kmeans.centres() == centres,
        fmt::format("kmeans: {} points, {} clusters, {} iterations on {} ranks, {}, {:.3f} s",
                    points, clusters, iterations, world.size(),
                    elide ? "centres shared" : "centres copied", seconds));
  });
}

}  // namespace

int main(int argc, char** argv) { return shoal::run(argc, argv, run); }
