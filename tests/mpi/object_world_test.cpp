// Distributed objects between processes.

#include <shoal/mpi.hpp>
#include <shoal/object.hpp>

#include "mpi/communicator_run.hpp"
#include "mpi/world_battery.hpp"
#include "support/joined_program.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace object_world_test {

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
    require(made.call<&Store::size>(shoal::all_ranks).get().size() ==
                static_cast<std::size_t>(world.size()),
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
  shoal::DistributedMap<std::string, int> map(world);
  for (int i = 0; i < 100; ++i) map.count(std::to_string(i % 10));
  map.fence();
  require(map.find("7").get() == 10 * world.size(), "the map");
  map.fence();
}

class Sink : public shoal::DistributedObject<Sink> {
 public:
  explicit Sink(Team& team) : DistributedObject(team) {}
  void take(std::int64_t /*number*/) { ++taken; }
  std::int64_t taken = 0;
};

constexpr std::size_t kWindow = 16384;

// Rank 0 invokes many times while rank 1 computes, in its section, until rank 0 has waited for a
// while. As few have been sent then as the windows have room for: that of the link, and that of the
// connection.
void flood(World& world) {
  constexpr std::int64_t kCount = 20000;
  constexpr int kWaits = 100;
  std::atomic<std::int64_t> sent{0};
  std::atomic<std::int64_t> told{-1};
  std::atomic<int> waits{0};
  const auto report = world.make_am([&](std::int64_t count) {
    waits = count == told ? waits + 1 : 0;
    told = count;
  });
  Sink sink(world);
  world.barrier();
  if (world.rank() == 0 && world.size() > 1) {
    world.spawn([&] {
      while (sent < kCount) {
        report.send_urgent(Rank(1), sent.load());
        shoal::sleep_for(std::chrono::milliseconds(1));
      }
      report.send_urgent(Rank(1), kCount);
    });
    for (; sent < kCount; ++sent) sink.async<&Sink::take>(Rank(1), sent.load());
  } else if (world.rank() == 1) {
    while (told < kCount && waits < kWaits) std::this_thread::yield();
    const auto bytes = static_cast<std::size_t>(told - sink.taken) * sizeof(std::int64_t);
    require(bytes <= 3 * kWindow, "{} bytes of invocations came to a rank that computes", bytes);
  }
  sink.fence();
  require(sink.taken == (world.rank() == 1 ? kCount : 0), "{} have run", sink.taken);
}

// Figure 3.12 of the thesis: a library that uses MPI, called on one rank of each process.
void allreduce_outside(World& world, MPI_Comm comm) {
  const auto callers = shoal::external_callers(world);
  const auto sum = shoal::external_call(world, [comm] {
    int one = 1;
    MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, comm);
    return one;
  });
  const bool calls = std::find(callers.begin(), callers.end(), world.rank()) != callers.end();
  require(sum.has_value() == calls, "external_call() on rank {}", world.rank().value());
  require(!calls || sum == static_cast<int>(callers.size()), "MPI's sum is {}", sum.value_or(0));
}

// Figure 3.13: shoal as a library of a program that uses MPI before and after, on a communicator.
void figure_3_13() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm turned = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
  MPI_Comm library = MPI_COMM_NULL;
  MPI_Comm_dup(turned, &library);
  int data = rank + 1;
  MPI_Allreduce(MPI_IN_PLACE, &data, 1, MPI_INT, MPI_SUM, turned);
  const int code = run_with(
      {"--workers", "1"},
      [data, library](World& world) {
        Store store(world);
        const Rank next((world.rank() + 1) % world.size());
        store.async<&Store::put>(next, 0, std::vector<std::string>{std::to_string(data)});
        store.fence();
        allreduce_outside(world, library);
      },
      turned);
  require(code == 0, "ended with {}", code);
  MPI_Allreduce(MPI_IN_PLACE, &data, 1, MPI_INT, MPI_MAX, turned);
  MPI_Comm_free(&library);
  MPI_Comm_free(&turned);
}

int program(int argc, char** argv) {
  int granted = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
  const int failed = shoal::testing::report([] {
    for (const std::string workers : {"1", "2"}) {
      const int code = run_with({"--workers", workers}, &objects, MPI_COMM_WORLD);
      require(code == 0, "ended with {} and {} workers", code, workers);
    }
    const int code = run_with(
        {"--workers", "2", "--packet-bytes", "1K", "--window-bytes", std::to_string(kWindow)},
        &flood, MPI_COMM_WORLD);
    require(code == 0, "the flood ended with {}", code);
    figure_3_13();
  });
  MPI_Finalize();
  return failed;
}

const shoal::testing::JoinedProgram kProgram("object_world_test", &program);

}  // namespace object_world_test
