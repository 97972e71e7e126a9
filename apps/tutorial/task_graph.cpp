// A task graph over all ranks: a task runs when its dependencies are satisfied, wherever they are.
//
// This is the example of the TaskTorrent paper, with n tasks in a tree: the tasks 2k + 1 and 2k + 2
// depend on the task k, and need its result.

#include <shoal/shoal.hpp>

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    constexpr int n = 1000;
    const auto rank_of = [&](int k) { return shoal::Rank(k % world.size()); };
    long level[n] = {};  // of the tasks of this rank: how far below the root they are

    // [graph]
    shoal::TaskGraph<int> tree(world, "tree");

    // [task]
    tree.set_rank(rank_of)
        .set_mapping([&](int k) { return k % world.worker_count(); })
        .set_task([&](int k, long level_of_k) {  // the input is the only dependency
          level[k] = level_of_k;
          for (int d = 2 * k + 1; d <= 2 * k + 2 && d < n; ++d) tree.send(d, 0, level_of_k + 1);
        });
    // [/task]

    if (rank_of(0) == world.rank()) tree.send(0, 0, 0L);  // the rest of the graph unfolds from here
    world.wait();
    // [/graph]

    for (int k = world.rank(); k < n; k += world.size()) {
      long expected = 0;
      for (int above = k; above > 0; above = (above - 1) / 2) ++expected;
      if (level[k] != expected) return 1;
    }
    return 0;
  });
}
