// expect: shoal: a std::initializer_list cannot travel in a message
// lines: <= 45
#include <shoal/shoal.hpp>

#include <initializer_list>

void make(shoal::TaskGraph<int>& graph) {
  graph.set_task([](int, std::initializer_list<int>) {});
}
