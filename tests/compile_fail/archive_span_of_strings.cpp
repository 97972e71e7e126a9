// expect: shoal: the elements of a std::span in a message must be trivially copyable
#include <shoal/archive.hpp>

auto receive(std::span<const std::byte> bytes) {
  return shoal::decode<std::span<const std::string>>(bytes);
}
