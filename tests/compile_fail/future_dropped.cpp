// expect: unused-result|nodiscard
#include <shoal/shoal.hpp>

#pragma GCC diagnostic error "-Wunused-result"

shoal::Future<int> sum();

void drop_an_error() { sum(); }
