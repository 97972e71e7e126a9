// expect: type T cannot travel in a message: make it trivially copyable or give it serialize\(
#include <shoal/am/archive.hpp>

struct File {
  ~File() {}
};

std::size_t size(const std::vector<File>& value) { return shoal::encoded_size(value); }
