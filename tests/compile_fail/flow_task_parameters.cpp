// expect: shoal: a task's function takes the arguments of insert\(\) in their order
// lines: <= 12
#include <shoal/shoal.hpp>

void sum(shoal::World& world) {
  shoal::Flow flow(world);
  const auto values = flow.vector<double>(nullptr, 10);
  flow.insert([](std::span<double> all, int number) { all[0] = number; }, read(values), 3);
}
