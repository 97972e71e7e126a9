// expect: shoal: a view in a message ends with it, and a promise keeps its value
// lines: <= 16
#include <shoal/shoal.hpp>

#include <string_view>
#include <utility>

void make(shoal::World& world, shoal::Promise<std::string_view> promise) {
  static_cast<void>(world.publish(std::move(promise)));
}
