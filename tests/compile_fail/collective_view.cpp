// expect: shoal: a collective operation returns values, and a view owns none
// lines: <= 16
#include <shoal/shoal.hpp>

#include <string_view>

std::size_t count(shoal::World& world, std::string_view text) {
  return world.allgather(text).size();
}
