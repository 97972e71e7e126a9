// expect: shoal: insert\(\) copies values, and a std::span or MatrixView refers to memory
// lines: <= 13
#include <shoal/shoal.hpp>

#include <span>

void make(shoal::Flow& flow, shoal::Data<int> datum, std::span<double> numbers) {
  flow.insert([](int& /*value*/, std::span<double> /*numbers*/) {}, shoal::write(datum), numbers);
}
