// Distributed objects between processes.

#include <shoal/mpi.hpp>
#include <shoal/object.hpp>

#include "mpi/world_battery.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using shoal::Handle;
using shoal::Rank;
using shoal::Team;
using shoal::World;
using shoal::testing::require;
using shoal::testing::run_with;

class Store : public shoal::DistributedObject<Store> {
 public:
  explicit Store(Team& team) : DistributedObject(team) {}
  void put(int index, const std::vector<std::string>& texts) {
    require(index == next_, "invocation {} came as number {}", index, next_);
    ++next_;
    size_ += texts.size();
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  int around(int hops) {
    const Rank to((rank() + 1) % team().size());
    return hops == 0 ? 42 : sync<&Store::around>(to, hops - 1);
  }
  [[nodiscard]] bool is_same(const Store* other) const { return other == this; }

 private:
  int next_ = 0;
  std::size_t size_ = 0;
};

void objects(World& world) {
  Store first(world);
  Store store(world);
  const Rank next((world.rank() + 1) % world.size());
  auto put = shoal::bind<&Store::put>(first, next);
  for (int i = 0; i < 500; ++i) {
    store.async<&Store::put>(next, i, std::vector<std::string>(3, "text"));
    put(i, std::vector<std::string>(1, "text"));
  }
  require(store.sync<&Store::size>(next) == 1500, "causal order");
  require(store.sync<&Store::around>(next, 2 * world.size() + 1) == 42, "calls around");
  require(store.sync<&Store::is_same>(next, &store), "pointers to objects");
  store.fence();
  require(first.size() == 500, "the tunnel has brought {}", first.size());
  require(store.allreduce<&Store::size>(std::plus<>()).get() ==
              1500 * static_cast<std::size_t>(world.size()),
          "allreduce");
  if (world.rank() == 0) {
    const Handle<Store> made =
        shoal::construct<Store>(world, shoal::RankSet::range(Rank(0), world.size())).get();
    require(made.call_all<&Store::size>().get().size() == static_cast<std::size_t>(world.size()),
            "construct()");
    shoal::ObjectDeleter<Store>()(made);
  }
  // Ranks that are no members of the object's team.
  std::vector<Rank> some{Rank(world.size() - 1)};
  if (world.size() > 1) some.emplace_back(0);
  Team team(world, some);
  const auto part = team.is_member() ? std::make_unique<Store>(team) : nullptr;
  const Handle<Store> outer =
      world.broadcast(part != nullptr ? part->handle() : Handle<Store>(), some[0]);
  world.barrier();
  if (world.rank() == world.size() / 2) {
    for (int i = 0; i < 100; ++i)
      outer.async<&Store::put>(shoal::all_ranks, i, std::vector<std::string>{"text"});
    for (const std::size_t size : outer.sync<&Store::size>(shoal::all_ranks)) {
      require(size == 100, "invocations from outside have brought {}", size);
    }
  }
  world.wait();
  shoal::distributed_map<std::string, int> map(world);
  for (int i = 0; i < 100; ++i) map.count(std::to_string(i % 10));
  map.fence();
  require(map.find("7").get() == 10 * world.size(), "the map");
  map.fence();
}

}  // namespace

int main(int argc, char** argv) {
  int granted = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
  const int failed = shoal::testing::report([] {
    for (const std::string workers : {"1", "2"}) {
      const int code = run_with({"--workers", workers}, &objects, MPI_COMM_WORLD);
      require(code == 0, "ended with {} and {} workers", code, workers);
    }
  });
  MPI_Finalize();
  return failed;
}
