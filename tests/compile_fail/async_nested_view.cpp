// expect: shoal: the result of a task outlives the function: return a value that owns
// lines: <= 12
#include <shoal/shoal.hpp>

#include <optional>
#include <string>
#include <string_view>

void start(shoal::World& world) {
  auto name = world.async([]() -> std::optional<std::string_view> { return std::string("x"); });
}
