// Programs in which tasks and handlers use data of each other, for --sim-races: in those whose name
// begins with "racy_" nothing orders two of them, in the others shoal does.
//
//   races NAME --sim-races [options of shoal]; two ranks, some workers

#include <shoal/loops.hpp>
#include <shoal/memory.hpp>
#include <shoal/object.hpp>
#include <shoal/pipeline.hpp>
#include <shoal/shoal.hpp>
#include <shoal/static_graph.hpp>
#include <shoal/worker_local.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
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

void racy_loop(World& /*world*/) {
  int count = 0;
  shoal::parallel_for(0, 200, [&count](int) { ++count; });
}

void racy_stage(World& /*world*/) {
  int next = 0;
  int count = 0;
  shoal::pipeline(
      {}, [&] { return next < 50 ? std::optional(next++) : std::nullopt; },
      shoal::parallel([&](int) { ++count; }));
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

// Waiters, on the stacks of their tasks, are taken out of what they wait for by the canceller.
void by_cancelled_group(World& world) {
  shoal::Latch latch(1);
  shoal::TaskGroup group;
  group.spawn([] { shoal::sleep_for(std::chrono::seconds(100)); });
  group.spawn([&] { latch.wait(); });
  shoal::sleep_for(std::chrono::milliseconds(1));
  group.cancel();
  group.wait();
  world.wait();
}

void by_stage_that_waits(World& /*world*/) {
  int next = 0;
  long sum = 0;
  shoal::pipeline(
      {.tokens = 3}, [&] { return next < 50 ? std::optional(next++) : std::nullopt; },
      shoal::parallel([](int item) {
        shoal::yield();
        return item * 2L;
      }),
      shoal::serial_in_order([&](long item) { sum += item; }));
  expect(sum == 2450, "a wrong sum");
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

void by_loops(World& /*world*/) {
  // Before and after a loop; iterations of their own data; serial stages; the order of a graph.
  std::vector<int> values(200, 1);
  shoal::parallel_for(0, 200, [&](int i) { values[static_cast<std::size_t>(i)] += i; });
  values[7] = 0;
  shoal::parallel_scan(values.begin(), values.end(), values.begin());
  const int sum = shoal::parallel_reduce(values, 0, [](int value) { return value % 7; });
  shoal::parallel_sort(values, [](int a, int b) { return a > b; });
  shoal::WorkerLocal<int> counts;
  shoal::parallel_for(0, 200, [&](int) {
    const auto count = counts.local();
    ++*count;
    shoal::yield();
    ++*count;
  });
  expect(counts.combine([](int a, int b) { return a + b; }) == 400, "values of workers");
  int visits = sum > 0 ? 0 : 1;
  const std::vector<int> one{1};
  shoal::Mutex mutex("visits");
  shoal::parallel_for_each(one, [&](int item, shoal::Feeder<int>& feeder) {
    if (2 * item < 50) feeder.add(2 * item);
    if (2 * item + 1 < 50) feeder.add(2 * item + 1);
    const std::scoped_lock lock(mutex);
    ++visits;
  });
  expect(visits == 49, "items");
  int next = 0;
  int passed = 0;
  shoal::pipeline(
      {}, [&] { return next < 50 ? std::optional(next++) : std::nullopt; },
      shoal::parallel([](int item) { return item + 1; }), shoal::serial_out_of_order([&](int item) {
        ++passed;
        return item;
      }),
      shoal::serial_in_order([&](int) { ++visits; }));
  shoal::StaticGraph graph;
  auto& first = graph.add([&] { ++passed; });
  auto& second = graph.add([&] { ++passed; });
  first.before(second);
  graph.run();
  graph.run();
  expect(passed == 54 && visits == 99, "stages");
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

// --- one program without a race and one with it for each way to order two accesses

using Marks = std::array<int, 2>;  // one of each rank
int sum_of(const Marks& marks) { return marks[0] + marks[1]; }
/// Of this rank.
int& mine_of(World& world, Marks& marks) {
  return marks[static_cast<std::size_t>(world.rank().value())];
}

void by_async(World& world) {
  int value = 0;
  auto written = world.async([&] { value = 1; });
  written.get();
  expect(value == 1, "a wrong value");
  auto shared = world.async([&] { value = 2; }).share();
  std::array<int, 2> seen{};
  for (int& one : seen) {
    world.spawn([&, shared] {
      shared.get();
      one = value;
    });
  }
  world.wait();
  expect(seen == std::array{2, 2}, "a wrong value");
}
// Many own an exception, and the last of them destroys it.
void by_exceptions(World& world) {
  auto failed = world.async([] { throw shoal::Error("told to all who wait"); }).share();
  std::array<std::string, 4> texts;
  for (std::string& text : texts) {
    world.spawn([failed, &text] {
      try {
        failed.get();
      } catch (const shoal::Error& error) {
        text = error.what();
      }
    });
  }
  std::string of_call;
  try {
    world.call(other(world), [] { throw shoal::Error("told across ranks"); }).get();
  } catch (const shoal::Error& error) {
    of_call = error.what();
  }
  failed = {};
  world.wait();
  expect(texts.back() == "told to all who wait", "a wrong text");
  expect(of_call.ends_with("told across ranks"), "a wrong text of a call");
}
void racy_before_async_ends(World& world) {
  int value = 0;
  auto written = world.async([&] { value = 1; });
  shoal::sleep_for(std::chrono::microseconds(20));
  expect(value >= 0, "a wrong value");
  written.get();
  world.wait();
}

void by_deadline(World& world) {
  int value = 0;
  auto written = world.async([&] {
    shoal::sleep_for(std::chrono::microseconds(20));
    value = 1;
  });
  while (written.wait_for(std::chrono::microseconds(5)) != shoal::FutureStatus::ready) {
  }
  expect(value == 1, "a wrong value");
  written.get();
  world.wait();
}
void racy_timeout(World& world) {
  int value = 0;
  auto written = world.async([&] {
    value = 1;
    shoal::sleep_for(std::chrono::microseconds(50));
  });
  static_cast<void>(written.wait_for(std::chrono::microseconds(20)));
  expect(value >= 0, "a wrong value");
  written.get();
  world.wait();
}

int write_mark(World& world, std::uintptr_t place) {
  *reinterpret_cast<int*>(place) = 1;
  return world.rank().value();
}
shoal::Future<int> sum_of_calls(World& world, Marks& marks) {
  int sum = 0;
  for (int& mark : marks) {
    auto part =
        world.call(other(world), shoal::am<write_mark>, reinterpret_cast<std::uintptr_t>(&mark));
    co_await part;
    sum += mark;
  }
  co_return sum;
}
void by_call(World& world) {
  Marks marks{};
  static_cast<void>(
      world.call(other(world), shoal::am<write_mark>, reinterpret_cast<std::uintptr_t>(&marks[0]))
          .get());
  expect(marks[0] == 1, "a wrong value");
  expect(sum_of_calls(world, marks).get() == 2, "a wrong sum");
  world.wait();
}
void racy_before_a_call_ends(World& world) {
  Marks marks{};
  auto called =
      world.call(other(world), shoal::am<write_mark>, reinterpret_cast<std::uintptr_t>(&marks[0]));
  shoal::sleep_for(std::chrono::microseconds(50));
  expect(marks[0] >= 0, "a wrong value");
  static_cast<void>(called.get());
  world.wait();
}

void by_latch_and_group(World& world) {
  std::array<int, kTasks> parts{};
  shoal::Latch latch(kTasks);
  for (int& part : parts) {
    world.spawn([&] {
      part = 1;
      latch.count_down();
    });
  }
  latch.wait();
  expect(std::reduce(parts.begin(), parts.end()) == kTasks, "a wrong sum");
  shoal::TaskGroup group;
  for (int& part : parts) group.spawn([&part] { part = 2; });
  group.wait();
  expect(std::reduce(parts.begin(), parts.end()) == 2 * kTasks, "a wrong sum");
  world.wait();
}
void racy_counts_down_too_early(World& world) {
  int value = 0;
  shoal::Latch latch(1);
  world.spawn([&] {
    latch.count_down();
    shoal::yield();
    value = 1;
  });
  latch.wait();
  expect(value >= 0, "a wrong value");
  world.wait();
}
void racy_before_the_group_ends(World& world) {
  int value = 0;
  shoal::TaskGroup group;
  group.spawn([&value] { value = 1; });
  shoal::sleep_for(std::chrono::microseconds(20));
  expect(value >= 0, "a wrong value");
  group.wait();
  world.wait();
}

void by_condition(World& world) {
  shoal::Mutex mutex(world, "data");
  shoal::ConditionVariable changed(world, "changed");
  int value = 0;
  int seen = 0;
  world.spawn([&] {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return value == 1; });
    seen = value;
  });
  world.spawn([&] {
    const std::unique_lock lock(mutex);
    value = 1;
    changed.notify_all();
  });
  world.wait();
  expect(seen == 1, "a wrong value");
}
void racy_condition(World& world) {
  shoal::Mutex mutex(world, "data");
  shoal::ConditionVariable changed(world, "changed");
  bool is_set = false;
  int value = 0;
  world.spawn([&] {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return is_set; });
    expect(value >= 0, "a wrong value");
  });
  world.spawn([&] {
    {
      const std::unique_lock lock(mutex);
      is_set = true;
      changed.notify_all();
    }
    value = 1;  // without the lock
  });
  world.wait();
}

void racy_behind_the_barrier(World& world) {
  shoal::Barrier barrier(2);
  int value = 0;
  world.spawn([&] {
    barrier.arrive_and_wait();
    value = 1;
  });
  world.spawn([&] {
    barrier.arrive_and_wait();
    expect(value >= 0, "a wrong value");
  });
  world.wait();
}
void racy_behind_the_cell(World& world) {
  shoal::FullEmpty<int> cell;
  int value = 0;
  world.spawn([&] {
    cell.write_ef(1);
    value = 1;
  });
  world.spawn([&] { expect(cell.read_fe() == 1 && value >= 0, "a wrong value"); });
  world.wait();
}

// A team has its own wait(), for the tasks, handlers and main functions of all its members.
void by_team_wait(World& world) {
  static Marks of_main{};
  static Marks of_tasks{};
  static Marks of_handlers{};
  shoal::Team team(world, {Rank(0), Rank(1)}, "both");
  const auto mark = team.make_am([&world] { mine_of(world, of_handlers) = 1; });
  mine_of(world, of_main) = 1;
  team.spawn([&] { mine_of(world, of_tasks) = 1; });
  mark.send(other(world));
  team.wait();
  expect(sum_of(of_main) + sum_of(of_tasks) + sum_of(of_handlers) == 6, "a wrong sum");
  team.wait();
  int value = 0;
  {
    shoal::Team inner(team, {Rank(1), Rank(0)}, "inner");
    inner.spawn([&value] { value = 1; });
    inner.wait();
    expect(value == 1, "a wrong value");
    inner.spawn([&value] { value = 2; });
  }
  expect(value == 2, "a wrong value behind the end of a team");
  world.wait();
}
void racy_wait_of_another_team(World& world) {
  shoal::Team first(world, {Rank(0), Rank(1)}, "first");
  shoal::Team second(world, {Rank(0), Rank(1)}, "second");
  int value = 0;
  first.spawn([&value] { value = 1; });
  second.spawn([] {});
  second.wait();
  expect(value >= 0, "a wrong value");
  first.wait();
  world.wait();
}

void mark_in_section(shoal::Team& team, std::uintptr_t marks) {
  const std::size_t mine = static_cast<std::size_t>(team.rank().value());
  reinterpret_cast<int*>(marks)[mine] = 1;
}
void by_end_of_a_launched_team(World& world) {
  static Marks marks{};
  if (world.rank() == 0) {
    const auto both = shoal::RankSet::range(Rank(0), 2, 1);
    world
        .launch_team(both, shoal::am<mark_in_section>,
                     reinterpret_cast<std::uintptr_t>(marks.data()))
        .get();
    expect(sum_of(marks) == 2, "a wrong sum");
  }
  world.wait();
}
void racy_before_a_launched_team_ends(World& world) {
  static Marks marks{};
  if (world.rank() == 0) {
    const auto both = shoal::RankSet::range(Rank(0), 2, 1);
    auto end = world.launch_team(both, shoal::am<mark_in_section>,
                                 reinterpret_cast<std::uintptr_t>(marks.data()));
    shoal::sleep_for(std::chrono::microseconds(100));
    expect(sum_of(marks) >= 0, "a wrong sum");
    end.get();
  }
  world.wait();
}

// Members of a collective operation that all take part in come behind all of them.
void by_barrier_of_ranks(World& world) {
  static std::array<Marks, 4> marks{};
  const auto all_are_marked = [&](std::size_t round) {
    expect(sum_of(marks[round]) == 2, "a wrong sum");
  };
  mine_of(world, marks[0]) = 1;
  world.barrier();
  all_are_marked(0);
  mine_of(world, marks[1]) = 1;
  expect(world.allreduce(1, std::plus<>()) == 2, "a wrong sum");
  all_are_marked(1);
  mine_of(world, marks[2]) = 1;
  expect(world.allgather(1).size() == 2, "a wrong size");
  all_are_marked(2);
  shoal::Team team(world, {Rank(1), Rank(0)}, "both");
  mine_of(world, marks[3]) = 1;
  team.barrier();
  all_are_marked(3);
  world.wait();
}
void racy_behind_a_barrier_of_ranks(World& world) {
  static Marks marks{};
  world.barrier();
  mine_of(world, marks) = 1;
  shoal::sleep_for(std::chrono::microseconds(10));
  expect(sum_of(marks) >= 0, "a wrong sum");
  world.wait();
}

// Tasks of a flow are ordered by their data.
void by_flow(World& world) {
  shoal::Flow flow(world, "f");
  int count = 0;  // of this rank
  const auto datum = flow.data(0, {.owner = Rank(0), .name = "d"});
  const shoal::Codelet add("add", [&count](int& value) {
    ++value;
    ++count;
  });
  for (int i = 0; i < kTasks; ++i) flow.insert(add, read_write(datum));
  flow.wait();
  expect(count == (world.rank() == 0 ? kTasks : 0), "a wrong count");
  world.wait();
}
void racy_readers_of_a_flow(World& world) {
  shoal::Flow flow(world, "f");
  int count = 0;
  const auto datum = flow.data(0, {.owner = Rank(0), .name = "d"});
  const shoal::Codelet look("look", [&count](const int& value) { count += value + 1; });
  for (int i = 0; i < kTasks; ++i) flow.insert(look, read(datum));
  flow.wait();
  world.wait();
}

class Account : public shoal::DistributedObject<Account> {
 public:
  explicit Account(shoal::Team& team) : DistributedObject(team) {}
  void add(int amount) { balance += amount; }
  [[nodiscard]] int look() const { return balance; }
  int balance = 0;
};
void by_invocations(World& world) {
  Account account(world);
  for (int i = 0; i < kTasks; ++i) {
    world.spawn([&] { account.async<&Account::add>(other(world), 1); });
  }
  account.fence();
  expect(account.balance == kTasks, "a wrong balance");
  account.fence();
  account.async<&Account::add>(other(world), 1);
  expect(account.sync<&Account::look>(other(world)) == kTasks + 1, "a wrong balance");
  account.fence();
  world.wait();
}
void racy_beside_invocations(World& world) {
  Account account(world);
  for (int i = 0; i < kTasks; ++i) {
    account.async<&Account::add>(other(world), 1);
    world.spawn([&account, i] {
      shoal::sleep_for(std::chrono::microseconds(20 * i));
      expect(account.balance >= 0, "a wrong balance");
    });
  }
  account.fence();
  world.wait();
}

// A handler that is made before the memory does not stand between that and its users.
void by_memory_behind_a_handler(World& world) {
  int handled = 0;
  const auto note = world.make_am([&] { ++handled; });
  shoal::GlobalMemory memory(world, {.name = "cells"});
  const auto row = memory.collective_allocate<long>(10);
  world.barrier();
  memory.put(row.on(other(world)), 7L).wait();
  note.send(other(world));
  static_cast<void>(memory.fetch_add(row.on(other(world)) + 1, 1L));
  memory.quiet();
  world.barrier();
  expect(memory.get(row) == 7 && memory.get(row + 1) == 1, "a wrong value");
  world.wait();
  expect(handled == 1, "a wrong count");
}

// errno is that of the thread, which tasks share in a simulated world alone.
void uses_errno(World& world) {
  int sum = std::stoi("4");
  for (int i = 0; i < kTasks; ++i) {
    world.spawn([i] {
      expect(std::stoi(std::to_string(i)) == i, "a wrong number");
      errno = 0;
      expect(std::strtod("1.5", nullptr) == 1.5 && errno == 0, "a wrong number");
    });
  }
  world.wait();
  sum += std::stoi("5");
  expect(sum == 9, "a wrong number");
}

const std::map<std::string_view, Body>& bodies() {
  static const std::map<std::string_view, Body> all{
      {"racy_count", racy_count},
      {"racy_loop", racy_loop},
      {"racy_stage", racy_stage},
      {"by_loops", by_loops},
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
      {"by_cancelled_group", by_cancelled_group},
      {"by_stage_that_waits", by_stage_that_waits},
      {"by_waiting", by_waiting},
      {"by_events", by_events},
      {"by_collectives", by_collectives},
      {"payload_after_its_release", payload_after_its_release},
      {"after_sleeping", after_sleeping},
      {"stacks", stacks},
      {"by_async", by_async},
      {"by_exceptions", by_exceptions},
      {"racy_before_async_ends", racy_before_async_ends},
      {"by_deadline", by_deadline},
      {"racy_timeout", racy_timeout},
      {"by_call", by_call},
      {"racy_before_a_call_ends", racy_before_a_call_ends},
      {"by_latch_and_group", by_latch_and_group},
      {"racy_counts_down_too_early", racy_counts_down_too_early},
      {"racy_before_the_group_ends", racy_before_the_group_ends},
      {"by_condition", by_condition},
      {"racy_condition", racy_condition},
      {"racy_behind_the_barrier", racy_behind_the_barrier},
      {"racy_behind_the_cell", racy_behind_the_cell},
      {"by_team_wait", by_team_wait},
      {"racy_wait_of_another_team", racy_wait_of_another_team},
      {"by_end_of_a_launched_team", by_end_of_a_launched_team},
      {"racy_before_a_launched_team_ends", racy_before_a_launched_team_ends},
      {"by_barrier_of_ranks", by_barrier_of_ranks},
      {"racy_behind_a_barrier_of_ranks", racy_behind_a_barrier_of_ranks},
      {"by_flow", by_flow},
      {"racy_readers_of_a_flow", racy_readers_of_a_flow},
      {"by_invocations", by_invocations},
      {"racy_beside_invocations", racy_beside_invocations},
      {"by_memory_behind_a_handler", by_memory_behind_a_handler},
      {"uses_errno", uses_errno},
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
