// expect: shoal: the arguments beside a large payload are kept: take std::vector or std::string
#include <shoal/shoal.hpp>

void make(shoal::World& world) {
  auto message = world.make_large_am<int>(
      [](std::size_t /*count*/, std::string_view /*name*/) { return std::span<int>(); },
      [](std::span<int> /*data*/, std::string_view /*name*/) {}, [](std::string_view /*name*/) {});
  message.send(shoal::Rank(0), std::span<const int>(), "name");
}
