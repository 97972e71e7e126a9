// Tasks without a graph: any task may spawn more of them; idle workers steal.

#include <shoal/shoal.hpp>

#include <atomic>
#include <functional>

namespace {

// Counts the leaves of a binary tree of the given height, one task per node.
void count_leaves(shoal::World& world, int height, std::atomic<int>& leaves) {
  if (height == 0) {
    ++leaves;
    return;
  }
  for (int child = 0; child < 2; ++child) {
    world.spawn([&world, height, &leaves] { count_leaves(world, height - 1, leaves); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    std::atomic<int> leaves = 0;
    count_leaves(world, 10, leaves);

    // A priority, a worker to begin on, and whether it must stay there.
    bool on_worker_0 = false;
    world.spawn([&] { on_worker_0 = true; },
                {.priority = 1, .worker = shoal::WorkerId(0), .bound = true, .name = "bound"});

    world.wait();
    return leaves == 1024 && on_worker_0 ? 0 : 1;
  });
}
