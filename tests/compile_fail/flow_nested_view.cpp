// expect: shoal: insert\(\) copies the elements of a std::span or std::string_view, but not of one inside
// lines: <= 13
#include <shoal/shoal.hpp>

#include <string_view>
#include <vector>

void name_all(shoal::Flow& flow, shoal::Data<int> count) {
  flow.insert([](int&, const std::vector<std::string_view>&) {}, write(count),
              std::vector<std::string_view>());
}
