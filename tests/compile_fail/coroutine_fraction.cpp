// expect: shoal: a floating-point value for the promise of an integer
// lines: <= 12
#include <shoal/shoal.hpp>

shoal::Future<int> half() { co_return 0.5; }
