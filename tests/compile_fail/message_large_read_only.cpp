// expect: in a read_only.. std::span<const T>.*the second function of a read_only
// lines: <= 32
#include <shoal/shoal.hpp>

#include <span>
#include <vector>

void make(shoal::World& world, std::vector<int>& place) {
  const auto buffer = [&](std::size_t /*count*/, int /*row*/) { return std::span<int>(place); };
  auto one = world.make_large_am<int>(
      buffer, shoal::read_only([](std::span<int> /*data*/) {}, [] {}));  // not const
  auto two = world.make_large_am<int>(buffer, shoal::read_only([](std::span<const int> /*data*/) {},
                                                               [](int /*row*/) {}));  // no data
  one.send(shoal::Rank(0), place, 1);
  two.send(shoal::Rank(0), place, 1);
}
