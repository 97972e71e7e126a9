// expect: shoal: a floating-point argument of insert\(\) would lose its fraction
// lines: <= 13
#include <shoal/shoal.hpp>

void make(shoal::Flow& flow, shoal::Data<int> datum) {
  flow.insert([](int& /*value*/, int /*count*/) {}, shoal::write(datum), 0.5);
}
