// expect: shoal: a std::shared_ptr cannot travel in a message
#include <shoal/archive.hpp>

std::size_t size(const std::shared_ptr<int>& value) { return shoal::encoded_size(value); }
