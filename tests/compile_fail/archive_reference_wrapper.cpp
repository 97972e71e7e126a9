// expect: shoal: a std::reference_wrapper cannot travel in a message
#include <shoal/archive.hpp>

#include <functional>

std::size_t size(std::reference_wrapper<int> value) { return shoal::encoded_size(value); }
