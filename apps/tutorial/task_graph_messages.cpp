// The tree of task_graph.cpp with active messages of the program, as in the TaskTorrent paper: each
// rank has a graph of its own tasks.

#include <shoal/shoal.hpp>

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    constexpr int n = 1000;
    const auto rank_of = [&](int k) { return shoal::Rank(k % world.size()); };
    long level[n] = {};  // of the tasks of this rank: how far below the root they are

    // [graph]
    shoal::TaskGraph<int> tree(world, "tree");

    // Stores the level of the task d of this rank, which may run now.
    const auto reach = [&](int d, long level_of_d) {
      level[d] = level_of_d;
      tree.fulfill(d);
    };
    const auto am = world.make_am(reach);  // the same on another rank

    // [task]
    tree.set_indegree([](int /*k*/) { return 1; })
        .set_mapping([&](int k) { return k % world.worker_count(); })
        .set_task([&](int k) {
          for (int d = 2 * k + 1; d <= 2 * k + 2 && d < n; ++d) {
            if (rank_of(d) == world.rank()) reach(d, level[k] + 1);
            if (rank_of(d) != world.rank()) am.send(rank_of(d), d, level[k] + 1);
          }
        });
    // [/task]

    if (rank_of(0) == world.rank()) tree.fulfill(0);  // the rest of the graph unfolds from here
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
