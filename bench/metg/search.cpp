#include "metg/search.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace metg {

namespace {

constexpr double kTarget = 0.5;
constexpr double kStep = 1.4142;     // between the iterations of two points
constexpr double kLongestUs = 1000;  // no longer tasks are tried
constexpr int kPointsBelow = 2;      // noise may put one of them there
constexpr double kFirst = 4;         // times the overhead is what the first tasks take

class Search {
 public:
  Search(const std::function<double(std::int64_t)>& granularity_us, double peak_us)
      : granularity_us_(granularity_us), peak_us_(peak_us) {}

  Metg run() {
    metg_.overhead_us = granularity_us_(0);
    double iterations = std::max(1.0, kFirst * metg_.overhead_us / peak_us_);
    go_up(iterations);
    go_down(iterations);
    metg_.points = points_;
    conclude();
    return metg_;
  }

 private:
  [[nodiscard]] double efficiency(const Point& point) const {
    return point.iterations * peak_us_ / point.granularity_us;
  }

  bool measure(double iterations) {
    const auto whole = static_cast<std::int64_t>(std::llround(iterations));
    points_.push_back({static_cast<double>(whole), granularity_us_(whole)});
    return efficiency(points_.back()) >= kTarget;
  }

  // From `iterations` on, until the target is reached.
  void go_up(double iterations) {
    while (!measure(iterations) && iterations * peak_us_ < kLongestUs) iterations *= 2;
    std::ranges::reverse(points_);
  }

  void go_down(double iterations) {
    int below = 0;
    while (below < kPointsBelow && iterations > 1) {
      iterations = std::max(1.0, iterations / kStep);
      below = measure(iterations) ? 0 : below + 1;
    }
  }

  // The points stand from long tasks to short ones.
  void conclude() {
    std::size_t last = points_.size();  // that reaches the target
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (efficiency(points_[i]) >= kTarget) last = i;
    }
    metg_.reached = last < points_.size();
    if (!metg_.reached) {
      metg_.metg_us = points_.front().granularity_us;
    } else if (last + 1 == points_.size()) {
      metg_.metg_us = points_[last].granularity_us;
    } else {
      metg_.metg_us = between(points_[last], points_[last + 1]);
    }
  }

  // Where a line through both meets the target: efficiency over the logarithm of granularity.
  [[nodiscard]] double between(const Point& above, const Point& below) const {
    const double share = (efficiency(above) - kTarget) / (efficiency(above) - efficiency(below));
    return above.granularity_us * std::pow(below.granularity_us / above.granularity_us, share);
  }

  const std::function<double(std::int64_t)>& granularity_us_;
  const double peak_us_;
  std::vector<Point> points_;
  Metg metg_;
};

}  // namespace

Metg search(const std::function<double(std::int64_t)>& granularity_us, double peak_us) {
  return Search(granularity_us, peak_us).run();
}

}  // namespace metg
