// expect: shoal: a task's function takes the arguments of insert\(\) in their order
// lines: <= 12
#include <shoal/shoal.hpp>

void add(shoal::World& world) {
  shoal::Flow flow(world);
  const auto value = flow.data(0L);
  const shoal::Codelet add("add", [](long& to, int by) { to += by; });
  flow.insert(add, read_write(value));
}
