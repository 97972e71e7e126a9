// expect: shoal: a std::unique_ptr of an array does not know its size
#include <shoal/archive.hpp>

std::size_t size(const std::unique_ptr<int[]>& value) { return shoal::encoded_size(value); }
