// expect: shoal: a floating-point number would lose its fraction as a key, which is an integer
// lines: <= 12
#include <shoal/shoal.hpp>

void start(shoal::TaskGraph<int>& graph) { graph.fulfill(2.5); }
