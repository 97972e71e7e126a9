#pragma once
// Points and clusters of the k-means program, without communication.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace kmeans {

inline constexpr std::size_t kDimensions = 4;
using Values = std::vector<std::int64_t>;  // integers: sums do not depend on their order

/// Coordinates of a point: near one of `clusters` random places.
inline Values point(std::uint64_t index, std::size_t clusters, std::uint64_t seed) {
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

/// Centres to begin with: some of the points.
inline Values first_centres(std::uint64_t points, std::size_t clusters, std::uint64_t seed) {
  Values centres;
  for (std::size_t c = 0; c < clusters; ++c) {
    const Values one = point(c * (points / clusters + 1) % points, clusters, seed);
    centres.insert(centres.end(), one.begin(), one.end());
  }
  return centres;
}

/// Centres that one process finds.
inline Values centres_alone(std::uint64_t points, std::size_t clusters, std::uint64_t seed,
                            int iterations) {
  Values centres = first_centres(points, clusters, seed);
  for (int i = 0; i < iterations; ++i) {
    Sums sums(clusters);
    for (std::uint64_t one = 0; one < points; ++one) sums.add(centres, point(one, clusters, seed));
    centres = sums.centres(centres);
  }
  return centres;
}

}  // namespace kmeans
