// expect: shoal: a floating-point value for the promise of an integer
// lines: <= 12
#include <shoal/shoal.hpp>

void make(shoal::Promise<int>& promise) { promise.set_value(0.5); }
