// expect: TravelCheck<File>.*a type cannot travel|a type cannot travel.*TravelCheck<File>
// lines: <= 45
#include <shoal/archive.hpp>

struct File {
  ~File() {}
};

std::size_t size(const std::vector<File>& value) { return shoal::encoded_size(value); }
