// Tasks that wait: futures, calls of other ranks, locks and groups. Who waits frees its worker.

#include <shoal/shoal.hpp>

#include <chrono>
#include <cstdio>
#include <mutex>

namespace {

// A message may bring a promise along; whoever gets it fulfils it.
int square(shoal::World& world, int x) {
  shoal::sleep_for(std::chrono::microseconds(10));  // the worker does other things meanwhile
  return world.rank() + x * x;
}

// A coroutine: what follows a co_await runs as a task of its own, once the value is there.
shoal::Future<int> sum_of_squares(shoal::World& world, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    shoal::Future<int> part = world.call(shoal::Rank(i % world.size()), shoal::am<square>, i);
    sum += co_await part;
  }
  co_return sum;
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    const shoal::Rank next((world.rank() + 1) % world.size());

    // A function called on another rank; get() parks the caller, not its worker.
    shoal::Future<int> called = world.call(next, shoal::am<square>, 3);
    // Another one of this rank, and what is to happen then.
    auto text = world.async([] { return 6; }).then([](int x) { return x * 7; });
    const bool good = called.get() == next.value() + 9 && text.get() == 42;

    // Tasks of a group have ended when wait() returns; the first exception of one comes out of it.
    shoal::Mutex mutex(world, "total");
    int total = 0;
    shoal::TaskGroup group("adders");
    for (int i = 1; i <= 10; ++i) {
      group.spawn([&, i] {
        const std::unique_lock lock(mutex);
        total += i;
      });
    }
    group.wait();

    const int sum = sum_of_squares(world, 4).get();
    if (world.rank() == 0) std::printf("total %d, sum of squares %d\n", total, sum);
    return good && total == 55 ? 0 : 1;
  });
}
