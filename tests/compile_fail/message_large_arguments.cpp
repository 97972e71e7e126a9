// expect: shoal: the number of arguments differs from the handler's parameters
#include <shoal/shoal.hpp>

void make(shoal::World& world) {
  auto message =
      world.make_large_am<int>([](std::size_t /*count*/, int /*i*/) { return std::span<int>(); },
                               [](std::span<int> /*data*/, int /*i*/) {}, [](int /*i*/) {});
  message.send(shoal::Rank(0), std::span<const int>());
}
