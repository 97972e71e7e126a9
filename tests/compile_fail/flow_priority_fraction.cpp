// expect: shoal: a priority is an integer, and a floating-point number would lose its
// lines: <= 20
#include <shoal/shoal.hpp>

void add(shoal::Flow& flow, shoal::Data<int> count) {
  flow.insert([](int& n) { ++n; }, read_write(count), shoal::with_priority(0.5));
}
