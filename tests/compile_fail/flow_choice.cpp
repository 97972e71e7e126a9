// expect: shoal: set_choice\(\) takes a function std::size_t\(parameters...\)
// lines: <= 12
#include <shoal/shoal.hpp>

void make() {
  shoal::Codelet codelet("work", [](int /*count*/) {});
  codelet.set_choice([](int count) { return 0.5 * count; });
}
