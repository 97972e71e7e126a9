// expect: shoal: a view of an event that is a temporary outlives it
// lines: <= 12
#include <shoal/shoal.hpp>

double sum(shoal::Events& events) {
  const auto numbers = events.wait({{shoal::any, "numbers"}})[0].view<double>();
  return numbers[0];
}
