#include "calibrate/trees.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/run_meter.hpp"

namespace calibrate {
namespace {

using shoal::MulticastTree;
using shoal::Rank;
using shoal::TreeShape;

constexpr std::size_t kSegmentBytes = std::size_t{256} << 10U;

/// Multicasts from rank 0, each of which begins when the last recipient of the one before has
/// answered.
class Rounds {
 public:
  Rounds(shoal::World& world, int repetitions)
      : world_(world),
        repetitions_(repetitions),
        payload_(kSegmentBytes),
        place_(kSegmentBytes),
        answer_(world.make_am([this] { next(); })),
        short_(world.make_am([this](int last) { arrived(last); })),
        large_(world.make_large_am<std::byte>(
            [this](std::size_t, int) { return std::span(place_); },
            [this](std::span<std::byte>, int last) { arrived(last); }, [] {})) {}

  /// Nanoseconds of one round with the first `count` recipients, the median of several. Collective.
  double measure(TreeShape shape, int count, bool is_large) {
    const int rounds = is_large ? 20 : 100;
    to_.clear();
    for (int rank = 1; rank <= count; ++rank) to_.emplace_back(rank);
    tree_ = {shape};
    is_large_ = is_large;
    std::vector<double> times;
    for (int i = 0; i < repetitions_; ++i) {
      world_.barrier();
      left_ = rounds;
      const std::uint64_t begin_ns = world_.now_ns();
      if (world_.rank() == 0) send();
      world_.wait();
      times.push_back(static_cast<double>(world_.now_ns() - begin_ns) / rounds);
    }
    return apps::median(std::move(times));
  }

 private:
  void send() {
    const shoal::Recipients to(to_, tree_);
    const int last = static_cast<int>(to_.size());
    if (is_large_) {
      large_.multicast(to, std::span<const std::byte>(payload_), last);
    } else {
      short_.multicast(to, last);
    }
  }
  void arrived(int last) {
    if (world_.rank() == last) answer_.send(Rank(0));
  }
  void next() {
    if (--left_ > 0) send();
  }

  shoal::World& world_;
  const int repetitions_;
  std::vector<std::byte> payload_;
  std::vector<std::byte> place_;
  std::vector<Rank> to_;
  MulticastTree tree_;
  bool is_large_ = false;
  int left_ = 0;
  const shoal::ActiveMessage<> answer_;
  const shoal::ActiveMessage<int> short_;
  const shoal::LargeMessage<std::byte, int> large_;
};

}  // namespace

std::uint64_t cost_of_one_more(double one_ns, double all_ns, int count) {
  const double each_ns = (all_ns - one_ns) / (count - 1);
  return each_ns < 1 ? 1 : static_cast<std::uint64_t>(each_ns + 0.5);
}

// The time to the last recipient grows by a send for each recipient of a flat tree, and by a hop
// for each of a chain.
shoal::team::TreeCosts measure_trees(shoal::World& world, int repetitions) {
  shoal::team::TreeCosts costs;
  const int count = world.size() - 1;
  if (count < 2) return costs;
  Rounds rounds(world, repetitions);
  const auto cost = [&](TreeShape shape, bool is_large) {
    const double one_ns = rounds.measure(shape, 1, is_large);
    return cost_of_one_more(one_ns, rounds.measure(shape, count, is_large), count);
  };
  costs.send_ns = cost(TreeShape::flat, false);
  costs.hop_ns = cost(TreeShape::chain, false);
  costs.segment_ns = cost(TreeShape::flat, true);
  costs.segment_hop_ns = cost(TreeShape::chain, true);
  return costs;
}

std::string trees_to_config(const shoal::team::TreeCosts& costs) {
  if (!costs.are_known()) {
    return "# trees of multicasts: not measured; start with 3 ranks or more\n";
  }
  return fmt::format(
      "# multicasts, one more recipient: send {} ns, hop {} ns; of 256 KiB: {} ns, {} ns\n"
      "multicast-costs = \"{}ns,{}ns,{}ns,{}ns\"\n",
      costs.send_ns, costs.hop_ns, costs.segment_ns, costs.segment_hop_ns, costs.send_ns,
      costs.hop_ns, costs.segment_ns, costs.segment_hop_ns);
}

}  // namespace calibrate
