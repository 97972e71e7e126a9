// The Jacobi iteration of docs/from_mpi.md as a task graph: a task for each strip and step.

#include "jacobi.hpp"

#include <shoal/shoal.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

// [main]
int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    // More strips than ranks: a rank has work while halos travel.
    const int strips = std::min(kRows, 4 * world.size());
    const auto rank_of = [&](int s) { return shoal::Rank(s * world.size() / strips); };
    std::mutex mutex;
    std::uint64_t mine = 0;

    using Key = std::pair<int, int>;  // step, strip
    shoal::TaskGraph<Key> graph(world, "jacobi");
    // The strip s has its values of a step: sends them to the three tasks that need them.
    const auto start = [&](int step, int s, Strip strip) {
      if (step == kSteps) {
        const std::lock_guard lock(mutex);
        mine += checksum(strip);
        return;
      }
      if (s > 0) graph.send({step, s - 1}, 2, first_row(strip));
      if (s + 1 < strips) graph.send({step, s + 1}, 0, last_row(strip));
      if (s == 0) graph.send({step, s}, 0, Row(kColumns, 1.0));
      if (s + 1 == strips) graph.send({step, s}, 2, Row(kColumns, 0.0));
      graph.send({step, s}, 1, std::move(strip));  // stays on its rank: moved, not copied
    };
    graph.set_rank([&](const Key& key) { return rank_of(key.second); })
        .set_mapping([&](const Key& key) { return key.second % world.worker_count(); })
        .set_task([&](const Key& key, const Row& above, const Strip& strip, const Row& below) {
          start(key.first + 1, key.second, advance(above, strip, below));
        });

    for (int s = 0; s < strips; ++s) {
      if (rank_of(s) == world.rank()) start(0, s, empty_strip(s, strips));
    }
    world.wait();  // once, behind all steps

    const std::uint64_t sum = world.allreduce(mine, std::plus<>());
    if (world.rank() == 0) print_checksum(sum);
  });
}
// [/main]
