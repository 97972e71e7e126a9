// expect: set_priority\(\) takes.*set_binding\(\) takes.*set_name\(\) takes.*set_cost\(\) takes.*set_dense\(\) takes
// lines: <= 50
#include <shoal/shoal.hpp>

void make(shoal::World& world) {
  shoal::TaskGraph<int> graph(world);
  graph.set_priority([] { return 1; });
  graph.set_binding([](int /*k*/) {});
  graph.set_name([](int /*k*/) { return 1; });
  graph.set_cost([](int /*k*/) { return 1.5; });
  graph.set_dense(
      10, [](int k) { return k; }, [](int /*a*/, int /*b*/) { return 1; });
}
