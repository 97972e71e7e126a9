// expect: shoal: a raw pointer cannot travel in a message
#include <shoal/archive.hpp>

std::size_t size(int* value) { return shoal::encoded_size(value); }
