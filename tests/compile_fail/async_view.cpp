// expect: shoal: the result of a task outlives the function: return a value that owns
// lines: <= 12
#include <shoal/shoal.hpp>

#include <string>
#include <string_view>

std::size_t size(shoal::World& world, std::string text) {
  return world.async([text] { return std::string_view(text); }).get().size();
}
