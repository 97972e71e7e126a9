// Code that runs in parallel on one rank, and four ways to protect the data that it shares.

#include <shoal/shoal.hpp>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    constexpr int kTasks = 100;
    const auto workers = static_cast<std::size_t>(world.worker_count());

    // [ways]
    // 1. Handlers of a rank run one at a time: data that only handlers touch need no lock.
    long in_handlers = 0;
    const auto add = world.make_am([&](int x) { in_handlers += x; });

    // 2. Tasks run in parallel: an atomic, or a lock that parks the task while it waits.
    std::atomic<long> in_atomic = 0;
    shoal::Mutex mutex(world, "in_lock");
    long in_lock = 0;

    // 3. Tasks that are bound to one worker run one after the other, up to where they wait.
    std::vector<long> per_worker(workers, 0);

    for (int i = 0; i < kTasks; ++i) {
      const shoal::WorkerId worker(i % world.worker_count());
      world.spawn([&, i] {
        add.send(world.rank(), i);
        in_atomic += i;
        const std::scoped_lock lock(mutex);
        in_lock += i;
      });
      world.spawn([&, i, worker] { per_worker[static_cast<std::size_t>(worker.value())] += i; },
                  {.worker = worker, .bound = true});
    }

    // 4. Everything before wait() on any rank happens before its return.
    world.wait();
    // [/ways]

    const long expected = kTasks * (kTasks - 1) / 2;
    long bound = 0;
    for (const long sum : per_worker) bound += sum;
    return in_handlers == expected && in_atomic == expected && in_lock == expected &&
                   bound == expected
               ? 0
               : 1;
  });
}
