// Programs in which tasks and handlers use data of each other, for --sim-races: in those whose name
// begins with "racy_" nothing orders two of them, in the others shoal does.
//
//   races NAME --sim-races [options of shoal]; two ranks, some workers

#include <shoal/memory.hpp>
#include <shoal/shoal.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using shoal::Rank;
using shoal::World;
using Body = std::function<void(World&)>;

constexpr int kTasks = 8;

void expect(bool right, const char* what) {
  if (!right) throw shoal::Error(what);
}
Rank other(const World& world) { return Rank((world.rank() + 1) % world.size()); }

// --- races

void racy_count(World& world) {
  int count = 0;
  for (int i = 0; i < kTasks; ++i) world.spawn([&count] { ++count; });
  world.wait();
}

void racy_missing_dependency(World& world) {
  std::array<double, 4> block{};
  shoal::TaskGraph<int> graph(world, "factor");
  graph.set_indegree([](int) { return 1; });
  graph.set_mapping([](int) { return 0; });
  graph.set_task([&](int k) {
    if (k == 0) return graph.fulfill(1);
    block[1] += 1;  // 1 and 2
  });
  graph.fulfill(0);
  graph.fulfill(2);
  world.wait();
}

void racy_fulfils_too_early(World& world) {
  int result = 0;
  shoal::TaskGraph<int> graph(world, "stage");
  graph.set_indegree([](int) { return 1; });
  graph.set_mapping([](int) { return 0; });
  graph.set_task([&](int k) {
    if (k == 1) return expect(result >= 0, "a wrong result");
    graph.fulfill(1);
    result = 7;
  });
  graph.fulfill(0);
  world.wait();
}

void racy_handler_and_task(World& world) {
  int sum = 0;
  const auto add = world.make_am([&sum](int x) { sum += x; });
  add.send(other(world), 1);
  world.spawn([&sum] { expect(sum >= 0, "a wrong sum"); });
  world.wait();
}

void racy_delivered_tasks(World& world) {
  int sum = 0;
  const auto add = world.make_am([&sum](int x) { sum += x; },
                                 {.delivery = shoal::Delivery::task, .name = "add"});
  for (int i = 0; i < kTasks; ++i) add.send(other(world), 1);
  world.wait();
}

void racy_main_reads_before_wait(World& world) {
  int result = 0;
  world.spawn([&result] { result = 1; });
  shoal::sleep_for(std::chrono::microseconds(20));
  expect(result >= 0, "a wrong result");
  world.wait();
}

void racy_two_permits(World& world) {
  shoal::Semaphore permits(2);
  int count = 0;
  for (int i = 0; i < kTasks; ++i) {
    world.spawn([&] {
      permits.acquire();
      shoal::yield();
      ++count;
      permits.release();
    });
  }
  world.wait();
}

void racy_after_the_lock(World& world) {
  shoal::Mutex mutex;
  int count = 0;
  for (int i = 0; i < kTasks; ++i) {
    world.spawn([&] {
      mutex.lock();
      mutex.unlock();
      ++count;
    });
  }
  world.wait();
}

// A variable of two ranks is a mistake, too: in two processes each has its own.
void racy_shared_by_ranks(World& world) {
  static int count = 0;
  ++count;
  world.wait();
  expect(count >= 1, "a wrong count");
}

void racy_payload_before_its_release(World& world) {
  std::vector<double> payload(100, 1.0);
  std::vector<double> place(100);
  const auto move = world.make_large_am<double>([&](std::size_t) { return std::span(place); },
                                                [](std::span<double>) {}, [] {});
  move.send(other(world), std::span(std::as_const(payload)));
  payload[0] = 2.0;
  world.wait();
}

void racy_events(World& world) {
  shoal::Events events(world);
  int count = 0;
  for (int i = 0; i < kTasks; ++i) events.submit({{shoal::self, "go"}}, [&count] { ++count; });
  for (int i = 0; i < kTasks; ++i) events.fire(shoal::self, "go");
  world.wait();
}

// A cell of rank 0 in global memory.
using Cell = shoal::GlobalPtr<long>;

void racy_get_beside_put(World& world) {
  shoal::GlobalMemory memory(world, {.name = "cells"});
  const Cell cell = memory.collective_allocate<long>();
  world.barrier();
  if (world.rank() == 1) memory.put(cell.on(Rank(0)), 1);
  world.spawn([&] { static_cast<void>(memory.get(cell.on(Rank(0)))); });
  world.wait();
}

void racy_puts_of_ranges(World& world) {
  shoal::GlobalMemory memory(world, {.name = "rows"});
  const auto row = memory.collective_allocate<double>(100);
  world.barrier();
  const std::vector<double> mine(51, 1.0 + world.rank());  // one too many
  memory.put(row.on(Rank(0)) + 49 * world.rank(), std::span<const double>(mine));
  world.wait();
}

void racy_add_beside_put(World& world) {
  shoal::GlobalMemory memory(world, {.name = "counters"});
  const Cell cell = memory.collective_allocate<long>();
  world.barrier();
  if (world.rank() == 0) {
    memory.put(cell.on(Rank(0)), 1);
  } else {
    memory.fetch_add(cell.on(Rank(0)), 1);
  }
  world.wait();
}

void racy_additions_beside_put(World& world) {
  shoal::GlobalMemory memory(world, {.name = "counters"});
  const Cell cells = memory.collective_allocate<long>(3).on(Rank(0));
  world.barrier();
  if (world.rank() == 0) {
    memory.put(cells + 1, 1);
  } else {
    memory.add_async(std::array{cells + 2, cells + 1}, std::array{1L, 2L});
  }
  world.wait();
}

// A put is at its place when its remote completion was waited for: not on return, and not behind a
// barrier alone.
void racy_get_before_remote_completion(World& world) {
  shoal::GlobalMemory memory(world, {.name = "cells"});
  const Cell cell = memory.collective_allocate<long>();
  world.barrier();
  if (world.rank() == 1) memory.put(cell.on(Rank(0)), 1);
  world.barrier();
  if (world.rank() == 0) static_cast<void>(memory.get(cell));
  world.wait();
}

void racy_own_get_before_remote_completion(World& world) {
  shoal::GlobalMemory memory(world, {.name = "cells"});
  const Cell cell = memory.collective_allocate<long>();
  world.barrier();
  if (world.rank() == 1) {
    memory.put(cell.on(Rank(0)), 1);
    static_cast<void>(memory.get(cell.on(Rank(0))));
  }
  world.wait();
}

void racy_use_before_the_end_of_a_get(World& world) {
  shoal::GlobalMemory memory(world, {.name = "rows"});
  const auto row = memory.collective_allocate<double>(100);
  world.barrier();
  std::vector<double> mine(100);
  shoal::Transfer transfer = memory.get_async(row.on(other(world)), std::span(mine));
  mine[7] += 1;
  transfer.wait();
  world.wait();
}

// --- no races

void by_remote_completion(World& world) {
  shoal::GlobalMemory memory(world, {.name = "cells"});
  const auto row = memory.collective_allocate<long>(100);
  const auto counter = memory.collective_allocate<long>();
  world.barrier();
  std::vector<long> mine(50, 1);
  for (int round = 0; round < 3; ++round) {
    shoal::Transfer transfer = memory.put(row.on(other(world)), std::span<const long>(mine));
    mine[0] = 2;  // its memory may be reused
    memory.put(row.on(other(world)) + 60, 7);
    static_cast<void>(memory.add_async(counter.on(Rank(0)), 1));
    const std::array counters{counter.on(Rank(0)), counter.on(Rank(0))};
    static_cast<void>(memory.add_async(counters, std::array{2L, -2L}));
    transfer.wait();
    memory.get(row.on(other(world)), std::span(mine));
    memory.quiet();
    world.barrier();
    expect(memory.get(row + 60) == 7 && memory.get(row + 1) == 1, "a wrong value");
    expect(memory.get(counter.on(Rank(0))) == 2 * (round + 1), "a wrong count");
    world.barrier();
  }
  memory.put(row.on(other(world)), 9);
  world.wait();
  expect(memory.get(row) == 9, "a wrong value behind wait()");
  world.barrier();
}

void by_global_memory(World& world) {
  shoal::GlobalMemory memory(world, {.name = "cells"});
  const Cell cell = memory.collective_allocate<long>(3);
  const Cell theirs = cell.on(other(world));
  long got = 0;
  const auto look = world.make_am([&] { got = memory.get(cell); });
  world.barrier();
  const std::array<long, 1> value{7L + world.rank()};
  memory.put_signal(theirs, value, [&] { look.send(other(world)); });
  for (int i = 0; i < kTasks; ++i) {
    world.spawn([&] { memory.fetch_add((cell + 1).on(Rank(0)), 1); });
  }
  world.wait();
  expect(got == 7 + other(world).value(), "a wrong value");
  expect(memory.get((cell + 1).on(Rank(0))) == 2 * kTasks, "a wrong count");
  if (world.rank() == 0) {  // a flag, by operations on words
    memory.put((cell + 2).on(Rank(0)), 5);
    memory.store((cell + 2).on(Rank(1)), 1);
  } else {
    while (memory.load((cell + 2).on(Rank(1))) == 0) shoal::yield();
    expect(memory.get((cell + 2).on(Rank(0))) == 5, "a wrong value behind the flag");
  }
  world.wait();
}

// A message of the same packet waits for its handler.
void behind_one_that_waits(World& world) {
  long value = 0;
  shoal::Promise<long> told;
  const auto look = world.make_am(
      [&](std::uintptr_t place) { told.set_value(*reinterpret_cast<const long*>(place)); });
  if (world.rank() == 1) expect(told.future().get() == 5, "a wrong value");
  const auto late = world.make_am([] {}, {.own_order = true});
  if (world.rank() == 0) {
    value = 5;
    late.send(Rank(1));
    look.send(Rank(1), reinterpret_cast<std::uintptr_t>(&value));
  }
  world.wait();
}

void locked(World& world) {
  shoal::Mutex mutex;
  std::mutex plain;
  int count = 0;
  int plain_count = 0;
  for (int i = 0; i < kTasks; ++i) {
    world.spawn([&] {
      {
        const std::lock_guard lock(mutex);
        ++count;
        shoal::yield();
        ++count;
      }
      const std::lock_guard lock(plain);
      ++plain_count;
    });
  }
  world.wait();
  expect(count == 2 * kTasks && plain_count == kTasks, "a wrong count");
}

void one_permit(World& world) {
  shoal::Semaphore permit(1);
  int count = 0;
  for (int i = 0; i < kTasks; ++i) {
    world.spawn([&] {
      permit.acquire();
      shoal::yield();
      ++count;
      permit.release();
    });
  }
  world.wait();
  expect(count == kTasks, "a wrong count");
}

void by_worker(World& world) {
  std::vector<int> counts(static_cast<std::size_t>(world.worker_count()));
  for (int i = 0; i < 4 * kTasks; ++i) {
    const int worker = i % world.worker_count();
    int& count = counts[static_cast<std::size_t>(worker)];
    world.spawn(
        [&count] {
          ++count;
          shoal::yield();
          ++count;
        },
        {.worker = shoal::WorkerId(worker), .bound = true});
  }
  world.wait();
  expect(std::reduce(counts.begin(), counts.end()) == 8 * kTasks, "a wrong count");
}

void by_handlers(World& world) {
  int sum = 0;
  std::vector<int> seen;
  const auto add = world.make_am([&](int x) {
    sum += x;
    seen.push_back(x);
  });
  for (int i = 0; i < kTasks; ++i) {
    world.spawn([&add, &world] { add.send(other(world), 1); });
    add.send(world.rank(), 1);
  }
  world.wait();
  expect(sum == 2 * kTasks && seen.size() == 2 * kTasks, "a wrong sum");
}

// The message says that what was written before it is there.
void message_after_data(World& world) {
  std::array<int, kTasks> data{};
  int sum = 0;
  const auto take = world.make_am([&](int i) { sum += data[static_cast<std::size_t>(i)]; });
  const auto take_as_task =
      world.make_am([&](int i) { expect(data[static_cast<std::size_t>(i)] == 1, "a wrong value"); },
                    {.delivery = shoal::Delivery::task});
  for (int i = 0; i < kTasks; ++i) {
    world.spawn([&, i] {
      data[static_cast<std::size_t>(i)] = 1;
      take.send(world.rank(), i);
      take_as_task.send(world.rank(), i);
    });
  }
  world.wait();
  expect(sum == kTasks, "a wrong sum");
}

// A diamond with many sides: each of them, not only the last, comes before the end.
void by_graph(World& world, bool dense) {
  std::array<int, kTasks> parts{};
  int sum = 0;
  shoal::TaskGraph<int> graph(world, "diamond");
  if (dense) graph.set_dense(2 + kTasks, [](int k) { return static_cast<std::size_t>(k); });
  graph.set_indegree([](int k) { return k == kTasks + 1 ? kTasks : 1; });
  graph.set_mapping([&world](int k) { return k % world.worker_count(); });
  graph.set_task([&](int k) {
    if (k == 0) {
      for (int i = 1; i <= kTasks; ++i) graph.fulfill(i);
    } else if (k <= kTasks) {
      parts[static_cast<std::size_t>(k - 1)] = k;
      graph.fulfill(kTasks + 1);
    } else {
      sum = std::reduce(parts.begin(), parts.end());
    }
  });
  graph.fulfill(0);
  world.wait();
  expect(sum == kTasks * (kTasks + 1) / 2, "a wrong sum");
}

void by_futures(World& world) {
  int value = 0;
  auto written = world.async([&value] { return value = 1; });
  auto doubled = std::move(written).then([&value](int x) { return value = 2 * x; });
  expect(doubled.get() == 2 && value == 2, "a wrong value");
  std::array<int, kTasks> parts{};
  std::vector<shoal::Future<void>> all;
  for (int& part : parts) all.push_back(world.async([&part] { part = 1; }));
  shoal::when_all(std::move(all)).get();
  expect(std::reduce(parts.begin(), parts.end()) == kTasks, "a wrong sum");
  shoal::Promise<int> promise;
  shoal::Future<int> future = promise.future();
  world.spawn([&] {
    value = 5;
    promise.set_value(1);
  });
  future.wait();
  expect(value == 5, "a wrong value");
  world.wait();
}

void by_group(World& world) {
  std::array<int, kTasks> parts{};
  int sum = 0;
  world.spawn([&] {
    shoal::TaskGroup group;
    for (int& part : parts) group.spawn([&part] { part = 1; });
    group.wait();
    sum = std::reduce(parts.begin(), parts.end());
  });
  world.wait();
  expect(sum == kTasks, "a wrong sum");
}

void by_waiting(World& world) {
  shoal::Barrier barrier(kTasks);
  shoal::Latch counter(kTasks);
  shoal::FullEmpty<int> cell;
  std::array<int, kTasks> parts{};
  int sum = 0;
  int last = 0;
  for (std::size_t i = 0; i < kTasks; ++i) {
    world.spawn([&, i] {
      parts[i] = 1;
      barrier.arrive_and_wait();
      expect(std::reduce(parts.begin(), parts.end()) == kTasks, "a wrong sum");
      counter.count_down();
    });
  }
  world.spawn([&] {
    counter.wait();
    sum = std::reduce(parts.begin(), parts.end());
    last = 3;
    cell.write_ef(1);
  });
  world.spawn([&] { expect(cell.read_fe() == 1 && last == 3, "a wrong value"); });
  world.wait();
  expect(sum == kTasks, "a wrong sum");
}

void by_events(World& world) {
  shoal::Events events(world);
  int value = 0;
  int got = 0;
  events.submit({{shoal::self, "written"}, {other(world), "token"}},
                [&](shoal::EventList& list) { got = value + list[1].get<int>(); });
  world.spawn([&] {
    value = 1;
    events.fire(shoal::self, "written");
  });
  events.fire(other(world), "token", 2);
  world.wait();
  expect(got == 3, "a wrong value");
}

void by_collectives(World& world) {
  int mine = world.rank() + 1;
  const int sum = world.allreduce(mine, std::plus<>());
  expect(sum == 3, "a wrong sum");
  for (int phase = 0; phase < 3; ++phase) {
    for (int i = 0; i < 2; ++i) world.spawn([] {});
    world.spawn([&mine] { ++mine; });
    world.wait();
    ++mine;
    world.barrier();
  }
  expect(mine == world.rank() + 7, "a wrong count");
}

void payload_after_its_release(World& world) {
  std::vector<double> payload(100, 1.0);
  std::vector<double> place(100);
  double sum = 0;
  const auto move = world.make_large_am<double>(
      [&](std::size_t) { return std::span(place); },
      [&](std::span<double> data) { sum = std::reduce(data.begin(), data.end()); },
      [&] { payload[0] = 2.0; });
  world.spawn([&] { move.send(other(world), std::span(std::as_const(payload))); });
  world.wait();
  expect(sum == 100 && payload[0] == 2, "a wrong sum");
}

void after_sleeping(World& world) {
  int value = 0;
  value = 1;
  world.spawn([&value] {
    shoal::sleep_for(std::chrono::microseconds(5));
    ++value;
    shoal::sleep_for(std::chrono::microseconds(5));
    ++value;
  });
  world.wait();
  expect(value == 3, "a wrong value");
}

// Frames of tasks that have ended, one below the other, are of no concern to later tasks.
[[gnu::noinline]] int deep(int n, std::span<int> from) {
  std::array<int, 100> frame{};
  for (std::size_t i = 0; i < frame.size(); ++i) frame[i] = n + static_cast<int>(i % from.size());
  return n == 0 ? frame[5] : frame[1] + deep(n - 1, frame);
}
void stacks(World& world) {
  for (int i = 0; i < 4 * kTasks; ++i) {
    world.spawn([i] {
      std::array<int, 3> begin{};
      expect(deep(i % 7, begin) >= 0, "a wrong number");
      if (i % 3 == 0) shoal::yield();
      expect(deep(i % 5, begin) >= 0, "a wrong number");
    });
  }
  world.wait();
}

const std::map<std::string_view, Body>& bodies() {
  static const std::map<std::string_view, Body> all{
      {"racy_count", racy_count},
      {"racy_missing_dependency", racy_missing_dependency},
      {"racy_get_beside_put", racy_get_beside_put},
      {"racy_puts_of_ranges", racy_puts_of_ranges},
      {"racy_add_beside_put", racy_add_beside_put},
      {"racy_additions_beside_put", racy_additions_beside_put},
      {"racy_get_before_remote_completion", racy_get_before_remote_completion},
      {"racy_own_get_before_remote_completion", racy_own_get_before_remote_completion},
      {"racy_use_before_the_end_of_a_get", racy_use_before_the_end_of_a_get},
      {"by_remote_completion", by_remote_completion},
      {"by_global_memory", by_global_memory},
      {"behind_one_that_waits", behind_one_that_waits},
      {"racy_fulfils_too_early", racy_fulfils_too_early},
      {"racy_handler_and_task", racy_handler_and_task},
      {"racy_delivered_tasks", racy_delivered_tasks},
      {"racy_main_reads_before_wait", racy_main_reads_before_wait},
      {"racy_two_permits", racy_two_permits},
      {"racy_after_the_lock", racy_after_the_lock},
      {"racy_shared_by_ranks", racy_shared_by_ranks},
      {"racy_payload_before_its_release", racy_payload_before_its_release},
      {"racy_events", racy_events},
      {"locked", locked},
      {"one_permit", one_permit},
      {"by_worker", by_worker},
      {"by_handlers", by_handlers},
      {"message_after_data", message_after_data},
      {"by_graph", [](World& world) { by_graph(world, false); }},
      {"by_dense_graph", [](World& world) { by_graph(world, true); }},
      {"by_futures", by_futures},
      {"by_group", by_group},
      {"by_waiting", by_waiting},
      {"by_events", by_events},
      {"by_collectives", by_collectives},
      {"payload_after_its_release", payload_after_its_release},
      {"after_sleeping", after_sleeping},
      {"stacks", stacks},
  };
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "--list") {
    for (const auto& [known, body] : bodies()) std::printf("%s\n", std::string(known).c_str());
    return 0;
  }
  return shoal::run(argc, argv, [&name](World& world) {
    const auto it = bodies().find(name);
    if (it == bodies().end()) throw shoal::ConfigError("races: there is no program '" + name + "'");
    it->second(world);
  });
}
