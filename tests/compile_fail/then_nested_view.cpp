// expect: shoal: the result of a continuation outlives the function
// lines: <= 12
#include <shoal/shoal.hpp>

#include <string_view>
#include <vector>

void go_on(shoal::Future<int> number) {
  auto names = std::move(number).then([](int) { return std::vector<std::string_view>(); });
}
