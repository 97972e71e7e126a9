// Global memory: ranks read and write each other's memory without answers.

#include <shoal/memory.hpp>

#include <cstddef>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kCount = 1000;  // elements of each rank

/// A histogram of all ranks' values: each bin is on some rank, and any rank adds to it.
bool histogram(shoal::World& world, shoal::GlobalMemory& memory) {
  shoal::GlobalVector<int> bins(memory, shoal::Distribution::cyclic(10, world.size()));
  world.barrier();  // every rank has its bins
  // [add]
  for (std::size_t i = 0; i < kCount; ++i) memory.add_async(bins[i % 10], 1);
  memory.quiet();   // the additions of this rank are done
  world.barrier();  // the additions of all ranks
  // [/add]
  std::vector<int> all(10);
  bins.get(0, std::span(all));
  world.barrier();  // no rank needs the bins any more
  for (const int bin : all) {
    if (bin != world.size() * static_cast<int>(kCount) / 10) return false;
  }
  return true;
}

/// A value with a signal: the message is handled when the data is there.
bool hand_over(shoal::World& world, shoal::GlobalMemory& memory) {
  const shoal::Rank next((world.rank() + 1) % world.size());
  shoal::GlobalVector<double> inbox(memory, kCount * static_cast<std::size_t>(world.size()));
  world.barrier();
  double sum = 0;
  const auto arrived = world.make_am([&](double expected) {
    for (const double value : inbox.local()) sum += value;
    sum -= expected;
  });
  const std::vector<double> values(kCount, 0.5);
  memory.put_signal(inbox.at(next, 0), values, [&] { arrived.send(next, 0.5 * kCount); });
  world.wait();
  return sum == 0;
}

/// A list over all ranks, whose elements are fetched when they are needed, and once.
struct Station {
  std::string name;
  shoal::GlobalPtr<Station> next;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(name, next);
  }
};

bool round_trip(shoal::World& world, shoal::GlobalMemory& memory) {
  shoal::GlobalVector<shoal::GlobalPtr<Station>> stations(memory,
                                                          static_cast<std::size_t>(world.size()));
  shoal::ObjectCache<Station, shoal::Lru> cache(memory, shoal::Lru(std::size_t{1} << 20U));
  const auto mine = memory.create<Station>();
  memory.local(mine)->name = "rank " + std::to_string(world.rank().value());
  stations.local()[0] = mine;
  world.barrier();
  const auto next = static_cast<std::size_t>((world.rank() + 1) % world.size());
  memory.local(mine)->next = stations.get(next);
  cache.collective_invalidate(world);  // the stations were changed
  shoal::GlobalPtr<Station> at = mine;
  for (int i = 0; i < world.size(); ++i) at = cache.get(at)->next;
  const bool good = at == mine && cache.get(at)->name == memory.local(mine)->name;
  world.barrier();
  memory.destroy(mine);
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    shoal::GlobalMemory memory(world);
    const bool good =
        histogram(world, memory) && hand_over(world, memory) && round_trip(world, memory);
    if (world.rank() == 0) std::printf("global memory: %s\n", good ? "good" : "wrong");
    return good ? 0 : 1;
  });
}
