// Least element of an array of arrays of very different lengths, where each inner array is
// distributed on a team of its own, or lies on one rank (STAPL-RTS thesis, 7.11.5).

#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include "common/conclude.hpp"
#include "common/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace {

using shoal::Rank;

/// Element i of inner array `which`.
int element(std::size_t which, std::size_t i) {
  const std::uint64_t mixed = shoal::KeyHash<std::uint64_t>()((which << 40U) + i);
  return static_cast<int>(mixed % 2000000000);
}

int run(shoal::World& world) {
  cli::App app("least element of an array of arrays", "min_element");
  std::size_t base = 1000;
  std::size_t step = 40000;
  std::size_t count = 0;
  bool composed = true;
  app.add_option("--base", base, "elements of the first inner array")
      ->check(cli::range(1, 1 << 28));
  app.add_option("--step", step, "elements that each next one has more")
      ->check(cli::range(0, 1 << 28));
  app.add_option("--count", count, "inner arrays; 0: as many as ranks")->check(cli::range(0, 4096));
  app.add_flag("--composed,!--flat", composed, "inner arrays on all ranks, or on one each");
  return apps::run_app(app, world, [&] {
    if (count == 0) count = static_cast<std::size_t>(world.size());
    std::vector<std::size_t> sizes;
    for (std::size_t which = 0; which < count; ++which) sizes.push_back(base + step * which);
    shoal::ComposedArray<int> array(world, sizes, [&](std::size_t which) {
      std::vector<Rank> ranks;
      for (int rank = 0; rank < world.size(); ++rank) {
        const bool owns = rank == static_cast<int>(which) % world.size();
        if (composed || owns) ranks.emplace_back(rank);
      }
      return ranks;
    });
    array.for_each_local([](std::size_t which, shoal::DistributedArray<int>& inner) {
      for (std::size_t i = 0; i < inner.local().size(); ++i) {
        inner.local()[i] = element(which, inner.index_of(i));
      }
    });
    world.barrier();
    const std::uint64_t begin_ns = world.now_ns();
    const std::optional<int> least = shoal::min_element(array);
    const double seconds = static_cast<double>(world.now_ns() - begin_ns) * 1e-9;
    int right = std::numeric_limits<int>::max();
    std::size_t total = 0;
    for (std::size_t which = 0; which < count; ++which) {
      for (std::size_t i = 0; i < sizes[which]; ++i) right = std::min(right, element(which, i));
      total += sizes[which];
    }
    return apps::conclude(
        world, least == right,
        fmt::format("min_element: {} elements in {} arrays on {} ranks, {}, least "
                    "{}, {:.3f} s",
                    total, count, world.size(), composed ? "composed" : "flat", least.value_or(-1),
                    seconds));
  });
}

}  // namespace

int main(int argc, char** argv) { return shoal::run(argc, argv, run); }
