// Tasks that are parked while a debugger looks: used by
// tests/suites/gdb_tasks.py. With the argument "abort" it ends there, for a core file.

#include <shoal/shoal.hpp>

#include <atomic>
#include <cstdlib>

namespace {

// Not inlined: the test looks for them on the stacks.
[[gnu::noinline]] void wait_for_ledger(shoal::Mutex& ledger) {
  const std::scoped_lock lock(ledger);
  asm volatile("" ::: "memory");
}

[[gnu::noinline]] void debugger_looks_here() { asm volatile("" ::: "memory"); }

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    if (world.rank() != world.size() - 1) {
      world.wait();
      return;
    }
    shoal::Mutex ledger("ledger");
    std::atomic<bool> is_there{false};
    ledger.lock();
    world.spawn(
        [&] {
          is_there = true;
          wait_for_ledger(ledger);
        },
        {.name = "reader"});
    // With one worker per rank, the reader has parked before anything else runs.
    while (!is_there) shoal::yield();
    debugger_looks_here();
    if (world.args().size() > 1) std::abort();
    ledger.unlock();
    world.wait();
  });
}
