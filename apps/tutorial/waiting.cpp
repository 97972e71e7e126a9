// Tasks that wait: futures, calls of other ranks, locks and groups. A waiting task frees its
// worker.

#include <shoal/shoal.hpp>

#include <chrono>
#include <cstdio>
#include <mutex>

namespace {

// A function that other ranks call. It may wait.
int square(shoal::World& world, int x) {
  shoal::sleep_for(std::chrono::microseconds(10));  // the worker does other things meanwhile
  return world.rank() + x * x;
}

// [coroutine]
// A coroutine: code after a co_await runs as a task of its own, once the value is there.
shoal::Future<int> sum_of_squares(shoal::World& world, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    shoal::Future<int> part = world.call(shoal::Rank(i % world.size()), shoal::am<square>, i);
    sum += co_await part;
  }
  co_return sum;
}
// [/coroutine]

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    const shoal::Rank next((world.rank() + 1) % world.size());

    // [futures]
    // A function called on another rank; get() parks the caller, not its worker.
    shoal::Future<int> called = world.call(next, shoal::am<square>, 3);
    // A task of this rank, and a continuation with its result.
    auto text = world.async([] { return 6; }).then([](int x) { return x * 7; });
    const bool good = called.get() == next.value() + 9 && text.get() == 42;
    // [/futures]

    // [group]
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
    // [/group]

    const int sum = sum_of_squares(world, 4).get();
    if (world.rank() == 0) std::printf("total %d, sum of squares %d\n", total, sum);
    return good && total == 55 ? 0 : 1;
  });
}
