// expect: shoal: a pointer to member cannot travel in a message
#include <shoal/archive.hpp>

struct Point {
  int x;
};

std::size_t size(int Point::*value) { return shoal::encoded_size(value); }
