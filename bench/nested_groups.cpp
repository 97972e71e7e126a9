// Task groups, each made by a task of the one before: the instructions of a level must not depend
// on how many there are (bench/budgets.json).
//
//   nested_groups --depth N

#include <shoal/shoal.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

int nest(int depth) {
  if (depth == 0) return 0;
  shoal::TaskGroup group;
  int below = 0;
  group.spawn([&below, depth] { below = nest(depth - 1); });
  group.wait();
  return below + 1;
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    const int depth = std::stoi(std::string(world.args()[2]));
    const int reached = nest(depth);
    std::printf("%d groups\n", reached);
    return reached == depth ? EXIT_SUCCESS : EXIT_FAILURE;
  });
}
