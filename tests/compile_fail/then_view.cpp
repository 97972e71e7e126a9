// expect: shoal: the result of a continuation outlives the function
// lines: <= 12
#include <shoal/shoal.hpp>

#include <span>
#include <vector>

double first(shoal::Future<std::vector<double>> numbers) {
  return numbers.then([](std::vector<double> all) { return std::span(all); }).get()[0];
}
