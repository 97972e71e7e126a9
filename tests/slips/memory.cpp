// Slips with global memory, caches, and tasks that block in futures, locks and cells.

#include <shoal/memory.hpp>
#include <shoal/shoal.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "slips.hpp"

namespace {

using shoal::GlobalMemory;
using shoal::GlobalPtr;
using shoal::Rank;
using shoal::World;

constexpr auto kChecked = shoal::GlobalMemoryOptions::Checks::on;

void put_after_free(World& world) {
  GlobalMemory memory(world, {.name = "grid", .checks = kChecked});
  const auto p = memory.collective_allocate<long>(8);
  world.barrier();
  memory.collective_free(p);
  world.barrier();
  if (world.rank() == 0) memory.put(p.on(Rank(1)), 5).wait();
  world.wait();
}

void put_after_free_dropped(World& world) {
  GlobalMemory memory(world, {.name = "grid", .checks = kChecked});
  const auto p = memory.collective_allocate<long>(8);
  world.barrier();
  memory.collective_free(p);
  world.barrier();
  if (world.rank() == 0) memory.put(p.on(Rank(1)), 5);
  world.wait();
}

void get_past_the_end(World& world) {
  GlobalMemory memory(world, {.name = "rows", .checks = kChecked});
  const auto p = memory.collective_allocate<long>(8);
  world.barrier();
  if (world.rank() == 0) (void)memory.get(p.on(Rank(1)) + 8);
  world.barrier();
  memory.collective_free(p);
}

void freed_twice(World& world) {
  GlobalMemory memory(world, {.name = "lists"});
  if (world.rank() == 1) {
    const auto p = memory.allocate<long>(4);
    memory.free(p);
    memory.free(p);
  }
  world.wait();
}

void freed_in_the_middle(World& world) {
  GlobalMemory memory(world, {.name = "lists"});
  if (world.rank() == 1) {
    const auto p = memory.allocate<long>(4);
    memory.free(p + 1);
  }
  world.wait();
}

void null_pointer(World& world) {
  GlobalMemory memory(world, {.name = "trees"});
  const GlobalPtr<long> root;
  if (world.rank() == 1) (void)memory.get(root);
  world.wait();
}

void pointer_of_another_memory(World& world) {
  GlobalMemory one(world, {.name = "one"});
  GlobalMemory two(world, {.name = "two"});
  if (world.rank() == 1) {
    const auto p = one.allocate<long>();
    (void)two.get(p);
  }
  world.wait();
}

void rank_too_large(World& world) {
  GlobalMemory memory(world, {.name = "columns"});
  const auto p = memory.collective_allocate<long>(8);
  world.barrier();
  memory.put(p.on(Rank(world.rank() + 1)), 5).wait();
  world.wait();
}

void past_the_heap(World& world) {
  GlobalMemory memory(world, {.name = "small", .heap_bytes = 1U << 20U});
  const auto p = memory.collective_allocate<long>(8);
  world.barrier();
  if (world.rank() == 0) memory.put(p.on(Rank(1)) + (1L << 24), 5).wait();
  world.wait();
}

void element_too_large(World& world) {
  GlobalMemory memory(world, {.name = "bins"});
  shoal::GlobalVector<long> bins(memory, 10);
  world.barrier();
  if (world.rank() == 1) (void)bins.get(10);
  world.barrier();
}

void vectors_differ(World& world) {
  GlobalMemory memory(world, {.name = "panels"});
  const int size = world.size();
  shoal::GlobalVector<long> panel(memory, world.rank() == 0
                                              ? shoal::Distribution::cyclic(10, size)
                                              : shoal::Distribution::balanced(10, size));
  world.barrier();
  if (world.rank() == 0) (void)panel.get(3);
  world.barrier();
}

void sizes_differ(World& world) {
  GlobalMemory memory(world, {.name = "panels"});
  const auto p = memory.collective_allocate<long>(world.rank() == 0 ? 8 : 16);
  world.barrier();
  world.wait();
  memory.collective_free(p);
}

void heaps_differ(World& world) {
  GlobalMemory memory(world,
                      {.name = "heaps", .heap_bytes = world.rank() == 0 ? 1U << 20U : 1U << 21U});
  (void)memory.collective_allocate<long>(8);
  world.barrier();
  world.wait();
}

void allocated_on_one_rank(World& world) {
  GlobalMemory memory(world, {.name = "tables"});
  if (world.rank() == 0) {
    const auto p = memory.collective_allocate<long>(8);
    memory.put(p.on(Rank(1)), 5).wait();
  }
  world.barrier();
  world.wait();
}

void heap_full(World& world) {
  GlobalMemory memory(world, {.name = "tiny", .heap_bytes = 1U << 20U});
  if (world.rank() == 1) (void)memory.allocate<long>(1U << 20U);
  world.wait();
}

void made_on_one_rank(World& world) {
  if (world.rank() == 0) {
    GlobalMemory memory(world, {.name = "private"});
    (void)memory.allocate_on<long>(Rank(1), 8);
    world.wait();
  } else {
    world.wait();
  }
}

void get_in_handler(World& world) {
  GlobalMemory memory(world, {.name = "values"});
  const auto p = memory.collective_allocate<long>(8);
  const auto am = world.make_am([&](int) { (void)memory.get(p.on(Rank(0))); }, {.name = "fetch"});
  world.barrier();
  if (world.rank() == 0) am.send(Rank(1), 1);
  world.wait();
}

void memory_ends_early(World& world) {
  {
    GlobalMemory memory(world, {.name = "short", .checks = kChecked});
    const auto p = memory.collective_allocate<long>(8);
    world.barrier();
    if (world.rank() == 0) memory.put(p.on(Rank(1)), 5);
  }
  world.wait();
}

// As above, after the end, of a heap that was in reach.
void memory_used_after_end(World& world) {
  auto memory = std::make_unique<GlobalMemory>(world, shoal::GlobalMemoryOptions{.name = "brief"});
  const auto p = memory->collective_allocate<long>(8);
  world.barrier();
  if (world.rank() == 0) (void)memory->get(p.on(Rank(1)));
  world.barrier();
  if (world.rank() == 1) memory.reset();
  world.barrier();
  if (world.rank() == 0) (void)memory->get(p.on(Rank(1)));
  world.wait();
}

void range_used_after_end(World& world) {
  auto memory = std::make_unique<GlobalMemory>(world, shoal::GlobalMemoryOptions{.name = "brief"});
  const auto p = memory->collective_allocate<long>(100);
  std::vector<long> row(100);
  world.barrier();
  if (world.rank() == 0) memory->get(p.on(Rank(1)), std::span(row));
  world.barrier();
  if (world.rank() == 1) memory.reset();
  world.barrier();
  if (world.rank() == 0) memory->get(p.on(Rank(1)), std::span(row));
  world.wait();
}

// Rank 0 looks at its copy of an object that rank 1 has changed.
template <class Look>
void look_at_stale_copy(World& world, Look look) {
  GlobalMemory memory(world, {.name = "states", .checks = kChecked});
  shoal::ObjectCache<long> cache(memory, {}, "copies");
  const auto p = memory.collective_allocate<long>(1);
  world.barrier();
  if (world.rank() == 0) (void)cache.get(p.on(Rank(1)));
  world.barrier();
  if (world.rank() == 1) memory.put(p.on(Rank(1)), 5).wait();
  world.barrier();
  if (world.rank() == 0) look(cache, p.on(Rank(1)));
  world.barrier();
}

void stale_copy(World& world) {
  look_at_stale_copy(world, [](auto& cache, auto object) { (void)cache.get(object); });
}

void stale_copy_at_hand(World& world) {
  look_at_stale_copy(world, [](auto& cache, auto object) { (void)cache.lget(object); });
}

void stale_copy_in_handler(World& world) {
  GlobalMemory memory(world, {.name = "states", .checks = kChecked});
  shoal::ObjectCache<long> cache(memory, {}, "copies");
  const auto p = memory.collective_allocate<long>(1);
  const auto look = world.make_am([&](int) { (void)cache.lget(p.on(Rank(1))); }, {.name = "look"});
  world.barrier();
  if (world.rank() == 0) (void)cache.get(p.on(Rank(1)));
  world.barrier();
  if (world.rank() == 1) {
    memory.put(p.on(Rank(1)), 5).wait();
    look.send(Rank(0), 1);
  }
  world.wait();
}

void stale_variable(World& world) {
  GlobalMemory memory(world, {.name = "clock", .checks = kChecked});
  shoal::GlobalVar<double> step(memory, Rank(1));
  world.barrier();
  (void)step.get();
  world.barrier();
  if (world.rank() == 1) step.set(0.5);
  world.barrier();
  if (world.rank() == 0) (void)step.get();
  world.barrier();
}

void cache_of_freed(World& world) {
  GlobalMemory memory(world, {.name = "nodes", .checks = kChecked});
  shoal::ObjectCache<long> cache(memory, {}, "copies");
  const auto p = memory.collective_allocate<long>(1);
  world.barrier();
  memory.collective_free(p);
  world.barrier();
  if (world.rank() == 0) (void)cache.get(p.on(Rank(1)));
  world.barrier();
}

void no_copy_here(World& world) {
  GlobalMemory memory(world, {.name = "nodes"});
  shoal::ObjectCache<long> cache(memory, {}, "copies");
  const auto p = memory.collective_allocate<long>(1);
  world.barrier();
  if (world.rank() == 0) (void)cache.lget(p.on(Rank(1)));
  world.barrier();
}

void variable_of_another_rank(World& world) {
  GlobalMemory memory(world, {.name = "clock"});
  shoal::GlobalVar<long> now(memory, Rank(0));
  world.barrier();
  if (world.rank() == 1) now.set(5);
  world.barrier();
}

void local_of_another_rank(World& world) {
  GlobalMemory memory(world, {.name = "slices"});
  const auto p = memory.collective_allocate<long>(1);
  world.barrier();
  if (world.rank() == 1) *memory.local(p.on(Rank(0))) = 5;
  world.barrier();
}

void signal_behind_a_bad_put(World& world) {
  GlobalMemory memory(world, {.name = "inbox", .checks = kChecked});
  const auto p = memory.collective_allocate<long>(8);
  const auto am = world.make_am([](int) {}, {.name = "arrived"});
  world.barrier();
  const std::vector<long> values(9);
  if (world.rank() == 0) memory.put_signal(p.on(Rank(1)), values, [&] { am.send(Rank(1), 1); });
  world.wait();
}

void cell_never_filled(World& world) {
  shoal::FullEmpty<long> cell("the next pivot");
  if (world.rank() == 1) {
    world.spawn([&] { (void)cell.read_fe(); }, {.name = "reader"});
  }
  world.wait();
}

void locked_twice(World& world) {
  shoal::Mutex mutex(world, "ledger");
  if (world.rank() == 1) {
    const std::unique_lock outer(mutex);
    const std::unique_lock inner(mutex);
  }
  world.wait();
}

void lock_kept(World& world) {
  shoal::Mutex mutex(world, "ledger");
  if (world.rank() == 1) {
    mutex.lock();
    world.spawn([&] { const std::unique_lock lock(mutex); }, {.name = "second writer"});
  }
  world.wait();
}

void unlocked_by_another(World& world) {
  shoal::Mutex mutex(world, "ledger");
  if (world.rank() == 1) {
    mutex.lock();
    world.spawn([&] { mutex.unlock(); }, {.name = "helper"});
  }
  world.wait();
}

void permits_never_come(World& world) {
  shoal::Semaphore buffers(0, "free buffers");
  if (world.rank() == 1) world.spawn([&] { buffers.acquire(); }, {.name = "packer"});
  world.wait();
}

void barrier_incomplete(World& world) {
  shoal::Barrier barrier(3, "end of step");
  if (world.rank() == 1) {
    for (int i = 0; i < 2; ++i) {
      world.spawn([&] { barrier.arrive_and_wait(); }, {.name = "part"});
    }
  }
  world.wait();
}

void counted_too_often(World& world) {
  shoal::Latch left(2, "tiles left");
  if (world.rank() == 1) {
    for (int i = 0; i < 3; ++i) left.count_down();
  }
  world.wait();
}

void condition_without_notice(World& world) {
  shoal::Mutex mutex(world, "queue");
  shoal::ConditionVariable filled(world, "queue to be filled");
  if (world.rank() == 1) {
    world.spawn(
        [&] {
          std::unique_lock lock(mutex);
          filled.wait(lock);
        },
        {.name = "consumer"});
  }
  world.wait();
}

void group_waits_for_itself(World& world) {
  shoal::TaskGroup group("loaders");
  if (world.rank() == 1) {
    group.spawn([&] { group.wait(); });
  }
  world.wait();
}

void group_error_dropped(World& world) {
  if (world.rank() == 1) {
    shoal::TaskGroup group("loaders");
    group.spawn([] { throw std::runtime_error("no such file"); });
  }
  world.wait();
}

void future_taken_twice(World& world) {
  auto future = world.async([] { return 5; });
  (void)future.get();
  if (world.rank() == 1) (void)future.get();
  world.wait();
}

void destructor_throws(World& world) {
  struct File {
    ~File() noexcept(false) { throw std::runtime_error("disk is full"); }
  };
  if (world.rank() == 1) world.spawn([] { const File file; }, {.name = "save"});
  world.wait();
}

void misaligned(World& world) {
  GlobalMemory memory(world, {.name = "bytes"});
  const auto p = memory.collective_allocate<std::byte>(32);
  world.barrier();
  if (world.rank() == 0) (void)memory.fetch_add((p.on(Rank(1)) + 1).cast<long>(), 1);
  world.wait();
}

void poll_without_end(World& world) {
  GlobalMemory memory(world, {.name = "flags"});
  const auto p = memory.collective_allocate<long>(1);
  world.barrier();
  if (world.rank() == 1) {
    while (memory.get(p.on(Rank(1))) == 0) shoal::yield();
  }
  world.wait();
}

std::unique_ptr<GlobalMemory> kept;
std::unique_ptr<shoal::Mutex> kept_mutex;
void lock_after_run(World& world) {
  if (world.rank() != 0) return;
  kept_mutex = std::make_unique<shoal::Mutex>(world, "ledger");
  kept_mutex->lock();
}
void lock_late() { kept_mutex->lock(); }

std::vector<shoal::Future<int>> kept_futures;
void then_after_run(World& world) {
  if (world.rank() == 0) kept_futures.push_back(world.async([] { return 7; }));
}
void go_on_late() {
  (void)std::move(kept_futures.front()).then([](int x) { return x; }).get();
}

void after_run(World& world) {
  if (world.rank() == 0)
    kept = std::make_unique<GlobalMemory>(world, shoal::GlobalMemoryOptions{.name = "late"});
  world.wait();
}
void allocate_late() { (void)kept->allocate<long>(); }

GlobalPtr<long> kept_place;
void read_after_run(World& world) {
  if (world.rank() == 0) {
    kept = std::make_unique<GlobalMemory>(world, shoal::GlobalMemoryOptions{.name = "late"});
    kept_place = kept->allocate<long>();
    kept->put(kept_place, 5).wait();
  }
  world.wait();
}
void read_late() { (void)kept->get(kept_place); }

}  // namespace

int main(int argc, char** argv) {
  return run_slip(argc, argv,
                  {{"put_after_free", put_after_free},
                   {"put_after_free_dropped", put_after_free_dropped},
                   {"get_past_the_end", get_past_the_end},
                   {"freed_twice", freed_twice},
                   {"freed_in_the_middle", freed_in_the_middle},
                   {"null_pointer", null_pointer},
                   {"pointer_of_another_memory", pointer_of_another_memory},
                   {"rank_too_large", rank_too_large},
                   {"past_the_heap", past_the_heap},
                   {"element_too_large", element_too_large},
                   {"sizes_differ", sizes_differ},
                   {"vectors_differ", vectors_differ},
                   {"heaps_differ", heaps_differ},
                   {"allocated_on_one_rank", allocated_on_one_rank},
                   {"heap_full", heap_full},
                   {"made_on_one_rank", made_on_one_rank},
                   {"get_in_handler", get_in_handler},
                   {"memory_ends_early", memory_ends_early},
                   {"memory_used_after_end", memory_used_after_end},
                   {"range_used_after_end", range_used_after_end},
                   {"stale_copy", stale_copy},
                   {"stale_copy_at_hand", stale_copy_at_hand},
                   {"stale_copy_in_handler", stale_copy_in_handler},
                   {"stale_variable", stale_variable},
                   {"cache_of_freed", cache_of_freed},
                   {"no_copy_here", no_copy_here},
                   {"variable_of_another_rank", variable_of_another_rank},
                   {"local_of_another_rank", local_of_another_rank},
                   {"signal_behind_a_bad_put", signal_behind_a_bad_put},
                   {"cell_never_filled", cell_never_filled},
                   {"locked_twice", locked_twice},
                   {"lock_kept", lock_kept},
                   {"unlocked_by_another", unlocked_by_another},
                   {"permits_never_come", permits_never_come},
                   {"barrier_incomplete", barrier_incomplete},
                   {"counted_too_often", counted_too_often},
                   {"condition_without_notice", condition_without_notice},
                   {"group_waits_for_itself", group_waits_for_itself},
                   {"group_error_dropped", group_error_dropped},
                   {"future_taken_twice", future_taken_twice},
                   {"destructor_throws", destructor_throws},
                   {"misaligned", misaligned},
                   {"poll_without_end", poll_without_end},
                   {"lock_after_run", lock_after_run, lock_late},
                   {"then_after_run", then_after_run, go_on_late},
                   {"after_run", after_run, allocate_late},
                   {"read_after_run", read_after_run, read_late}});
}
