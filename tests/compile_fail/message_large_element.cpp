// expect: shoal: the payload of a large message is copied byte by byte: T must be trivially copyable
#include <shoal/shoal.hpp>

void make(shoal::World& world) {
  auto message = world.make_large_am<std::string>(
      [](std::size_t /*count*/) { return std::span<std::string>(); },
      [](std::span<std::string> /*data*/) {}, [] {});
  message.send(shoal::Rank(0), std::span<const std::string>());
}
