// expect: shoal: a std::span or std::string_view cannot travel inside another value
#include <shoal/archive.hpp>

std::size_t size(const std::pair<int, std::span<const int>>& value) {
  return shoal::encoded_size(value);
}
