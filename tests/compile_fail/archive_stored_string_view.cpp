// expect: shoal: a std::span or std::string_view cannot travel inside another value
#include <shoal/archive.hpp>

auto receive(std::span<const std::byte> bytes) {
  return shoal::decode<std::vector<std::string_view>>(bytes);
}
