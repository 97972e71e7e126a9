// y = a x + y, flat, or on teams that are halved again and again (STAPL-RTS thesis, 7.11.3).

#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include "common/conclude.hpp"
#include "common/options.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <string>

namespace {

constexpr float kA = 2.5F;

/// Makes two vectors of `size` elements on `team`, and combines them; the number of wrong results.
std::size_t saxpy(shoal::Team& team, std::size_t size) {
  shoal::DistributedArray<float> x(team, size);
  shoal::DistributedArray<float> y(team, size);
  for (std::size_t i = 0; i < x.local().size(); ++i) {
    x.local()[i] = static_cast<float>(x.index_of(i) % 1000 + 1);
    y.local()[i] = static_cast<float>(x.index_of(i) % 7);
  }
  for (std::size_t i = 0; i < x.local().size(); ++i) y.local()[i] += kA * x.local()[i];
  y.fence();
  std::size_t wrong = 0;
  // Also checks elements of another rank: those of the neighbour.
  const auto check = [&](std::size_t index, float value) {
    const float right = kA * static_cast<float>(index % 1000 + 1) + static_cast<float>(index % 7);
    wrong += value == right ? 0 : 1;
  };
  for (std::size_t i = 0; i < y.local().size(); ++i) check(y.index_of(i), y.local()[i]);
  if (size > 0) {
    const std::size_t other = y.local().empty() ? 0 : (y.index_of(0) + size / 2) % size;
    check(other, y.get(other).get());
  }
  y.fence();
  return wrong;
}

/// Halves the team and the vectors `levels` times.
std::size_t nested(shoal::Team& team, std::size_t size, int levels) {
  if (levels == 0) return saxpy(team, size);
  if (team.size() == 1) {  // both halves, one after the other
    shoal::Team alone(team, {shoal::Rank(0)});
    return nested(alone, size / 2, levels - 1) + nested(alone, size - size / 2, levels - 1);
  }
  const bool upper = team.rank() >= team.size() / 2;
  shoal::Team half = team.split(upper ? 1 : 0);
  return nested(half, upper ? size - size / 2 : size / 2, levels - 1);
}

int run(shoal::World& world) {
  cli::App app("SAXPY on nested teams", "saxpy");
  std::size_t size = 1U << 20U;
  int levels = 3;
  app.add_option("--n", size, "elements of each vector")->check(cli::range(1, 1 << 30));
  app.add_option("--levels", levels, "times that the team is halved; 0: flat")
      ->check(cli::range(0, 16));
  return apps::run_app(app, world, [&] {
    const std::uint64_t begin_ns = world.now_ns();
    const std::size_t wrong = nested(world, size, levels);
    world.barrier();
    const double seconds = static_cast<double>(world.now_ns() - begin_ns) * 1e-9;
    return apps::conclude(
        world, wrong == 0,
        fmt::format("saxpy: {} elements on {} ranks, {}, {:.3f} s", size, world.size(),
                    levels == 0 ? "flat" : fmt::format("{} levels", levels), seconds));
  });
}

}  // namespace

int main(int argc, char** argv) { return shoal::run(argc, argv, run); }
