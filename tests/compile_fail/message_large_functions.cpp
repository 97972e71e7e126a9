// expect: the buffer function of a large.*the arrival function of a large.*the release function of a large
// lines: <= 32
#include <shoal/shoal.hpp>

#include <span>
#include <string>
#include <vector>

void make(shoal::World& world, std::vector<int>& place) {
  auto one = world.make_large_am<int>([&] { return std::span<int>(place); },  // no count
                                      [](std::span<int> /*data*/) {}, [] {});
  auto two = world.make_large_am<int>(
      [&](std::size_t /*count*/, int /*row*/) { return std::span<int>(place); },
      [](std::span<int> /*data*/, const std::string& /*row*/) {},  // another type
      [](int /*row*/, int /*column*/) {});                         // one more
  one.send(shoal::Rank(0), place);
  two.send(shoal::Rank(0), place, 1);
}
