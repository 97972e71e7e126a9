// expect: shoal: a std::span of a type aligned to more than 16 bytes
#include <shoal/archive.hpp>

struct alignas(32) Wide {
  int value;
};

auto receive(std::span<const std::byte> bytes) {
  return shoal::decode<std::span<const Wide>>(bytes);
}
