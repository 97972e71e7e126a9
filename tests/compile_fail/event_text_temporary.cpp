// expect: shoal: a view of an event that is a temporary outlives it
// lines: <= 12
#include <shoal/shoal.hpp>

#include <string_view>

std::size_t size(shoal::Events& events) {
  const auto text = events.wait({{shoal::any, "text"}}).front().get<std::string_view>();
  return text.size();
}
