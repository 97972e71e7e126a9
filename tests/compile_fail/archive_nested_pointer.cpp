// expect: shoal: a raw pointer cannot travel in a message
#include <shoal/archive.hpp>

std::size_t size(const std::array<int*, 2>& value) { return shoal::encoded_size(value); }
