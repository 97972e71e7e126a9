// expect: shoal: a std::unique_ptr to a polymorphic type cannot travel
#include <shoal/archive.hpp>

struct Shape {
  virtual ~Shape() = default;
};

std::size_t size(const std::unique_ptr<Shape>& value) { return shoal::encoded_size(value); }
