// Programs with one planted cause of slowness each, their opposites, and healthy ones: used by
// tests/suites/trace_causes.py. Programs whose path, bytes, names and dependencies are known: used
// by tests/suites/trace_runs.py.
//
//   trace_planted CAUSE small|large [opposite]
//   trace_planted healthy NUMBER
//
// Work is time asleep, which other programs on the machine do not prolong by much; in simulated
// runs (--sim-dry) it is virtual time. Causes that are about processors have work in CPU time.
//
// A comment "Place" stands above each line that a verdict on these programs may name.

#include <shoal/loops.hpp>
#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using shoal::Delivery;
using shoal::Rank;
using shoal::WorkerId;
using shoal::World;

/// Options of a run.
struct Plan {
  bool opposite = false;
  int size = 1;  // 1 or 3: how much there is of everything
};

void work(int us) {
  shoal::compute(shoal::Cost::of_seconds(us * 1e-6),
                 [us] { std::this_thread::sleep_for(std::chrono::microseconds(us)); });
}

std::int64_t thread_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

/// Work that needs a processor.
void spin(int us) {
  shoal::compute(shoal::Cost::of_seconds(us * 1e-6), [us] {
    const std::int64_t end_ns = thread_ns() + us * std::int64_t{1000};
    while (thread_ns() < end_ns) {
    }
  });
}

Rank next_of(const World& world, int distance = 1) {
  return Rank((world.rank().value() + distance) % world.size());
}

// --- causes

/// All tasks are bound to one worker; opposite: to none.
void bound(World& world, const Plan& plan) {
  for (int i = 0; i < 40 * plan.size; ++i) {
    if (plan.opposite) {
      // Place: bound opposite
      world.spawn([] { work(2000); }, {.name = "cell"});
    } else {
      // Place: bound
      world.spawn([] { work(2000); }, {.worker = WorkerId(0), .bound = true, .name = "cell"});
    }
  }
  world.wait();
}

/// All work is in handlers; opposite: in tasks that the messages make.
void handlers(World& world, const Plan& plan) {
  // Place: handlers*
  const auto cell = world.make_am(
      [](int) { work(2000); },
      {.delivery = plan.opposite ? Delivery::task : Delivery::inlined, .name = "cell"});
  for (int i = 0; i < 30 * plan.size; ++i) cell.send(next_of(world), i);
  world.wait();
}

/// Steps in which one task takes longer, a different one each time; `end` waits for all of a step.
/// Opposite: one wait() for all steps.
void uneven_steps(World& world, const Plan& plan, const std::function<void()>& end) {
  const int count = world.worker_count();
  for (int step = 0; step < 10 * plan.size; ++step) {
    for (int i = 0; i < 2 * count; ++i) {
      const bool is_long = i == 2 * count - 1 && step % world.size() == world.rank();
      // Place: steps*, fences*
      world.spawn([is_long] { work(is_long ? 8000 : 2000); }, {.name = "cell"});
    }
    if (!plan.opposite) end();
  }
  world.wait();
}

/// A wait() per step.
void steps(World& world, const Plan& plan) {
  uneven_steps(world, plan, [&world] { world.wait(); });
}

/// A fence() of a distributed object per step.
void fences(World& world, const Plan& plan) {
  class Cells : public shoal::DistributedObject<Cells> {
   public:
    explicit Cells(World& of) : DistributedObject(of) {}
  };
  const Cells cells(world);
  uneven_steps(world, plan, [&cells] { cells.fence(); });
}

/// Making a task takes longer than it runs on the workers; opposite: it takes no time.
void insertion(World& world, const Plan& plan) {
  for (int i = 0; i < 40 * plan.size; ++i) {
    if (!plan.opposite) work(2000);
    // Place: insertion*
    world.spawn([] { work(2000); }, {.name = "cell"});
  }
  world.wait();
}

/// All tasks want one lock; opposite: each its own.
void lock(World& world, const Plan& plan) {
  const int count = 30 * plan.size;
  std::vector<std::unique_ptr<shoal::Mutex>> mutexes;
  for (int i = 0; i < count; ++i) {
    if (i == 0 || plan.opposite) mutexes.push_back(std::make_unique<shoal::Mutex>(world, "table"));
  }
  for (int i = 0; i < count; ++i) {
    shoal::Mutex& mutex = *mutexes[plan.opposite ? static_cast<std::size_t>(i) : 0];
    // Place: lock*
    world.spawn(
        [&mutex] {
          mutex.lock();
          work(2000);
          mutex.unlock();
        },
        {.name = "cell"});
  }
  world.wait();
}

/// Tasks that need processors: for narrow masks and many workers.
void spins(World& world, const Plan& plan) {
  // Place: spins
  for (int i = 0; i < 60 * plan.size; ++i) world.spawn([] { spin(3000); }, {.name = "cell"});
  world.wait();
}

/// Tasks that wait for memory slow each other; opposite: tasks that compute. Some run alone, before
/// and after the others.
void memory(World& world, const Plan& plan) {
  const auto pass = [&plan] {
    const double bytes = plan.opposite ? 0 : 20e6;
    shoal::compute(shoal::Cost{plan.opposite ? 2e-3 : 0, 0, bytes}, [&plan] {
      static thread_local std::vector<double> data(4 << 20U, 1.0);
      if (plan.opposite) return spin(2000);
      for (double& one : data) one += 1;
    });
  };
  std::atomic<int> left_together = 40 * plan.size;
  std::function<void(int)> alone;
  const auto together = [&] {
    pass();
    // Place: memory*
    if (--left_together == 0) world.spawn([&alone] { alone(-8); }, {.name = "pass"});
  };
  alone = [&](int left) {  // up to the others if it is positive, and behind them if negative
    pass();
    // Place: memory*
    if (left > 1) world.spawn([&alone, left] { alone(left - 1); }, {.name = "pass"});
    // Place: memory*
    if (left < -1) world.spawn([&alone, left] { alone(left + 1); }, {.name = "pass"});
    // Place: memory*
    for (int i = 0; left == 1 && i < 40 * plan.size; ++i) world.spawn(together, {.name = "pass"});
  };
  // Place: memory*
  world.spawn([&alone] { alone(8); }, {.name = "pass"});
  world.wait();
}

/// Steps on all ranks, each after the last step of all.
void run_steps(World& world, int count, const std::function<void(int step)>& body) {
  using Key = std::array<int, 2>;  // step, rank
  // Place: slow*, outlier*, healthy 1
  shoal::TaskGraph<Key> graph(world, "step");
  graph.set_rank([](Key k) { return Rank(k[1]); })
      .set_indegree([&](Key k) { return k[0] == 0 ? 1 : world.size(); })
      .set_mapping([](Key) { return 0; })
      .set_task([&](Key k) {
        body(k[0]);
        for (int rank = 0; rank < world.size() && k[0] + 1 < count; ++rank) {
          graph.fulfill({k[0] + 1, rank});
        }
      });
  graph.fulfill({0, world.rank().value()});
  world.wait();
}

/// All steps of rank 2 take longer; opposite: one of them.
void slow(World& world, const Plan& plan) {
  const int count = 10 * plan.size;
  run_steps(world, count, [&](int step) {
    const bool is_slow = world.rank() == 2 && (!plan.opposite || step == count / 2);
    work(is_slow ? (plan.opposite ? 20'000 * plan.size : 12'000) : 4000);
  });
}

/// One rank takes long in two steps, far from each other; opposite: all ranks do.
void outlier(World& world, const Plan& plan) {
  const int count = plan.size == 1 ? 16 : 30;  // so that a third long task is none too many
  run_steps(world, count, [&](int step) {
    const bool is_long = step == count / 4 || step == 3 * count / 4;
    work(is_long && (plan.opposite || world.rank() == 2) ? 30'000 * plan.size : 4000);
  });
}

/// One rank has more tasks than the others; opposite: its tasks are a chain.
void overloaded(World& world, const Plan& plan) {
  const bool is_loaded = world.rank() == world.size() - 1;
  const int count = (is_loaded ? 30 : 8) * plan.size;
  std::function<void(int)> chain = [&](int left) {
    work(3000);
    // Place: overloaded opposite
    if (left > 1) world.spawn([&chain, left] { chain(left - 1); }, {.name = "cell"});
  };
  if (plan.opposite) {
    // Place: overloaded opposite
    world.spawn([&chain, count] { chain(count); }, {.name = "cell"});
  } else {
    // Place: overloaded
    for (int i = 0; i < count; ++i) world.spawn([] { work(3000); }, {.name = "cell"});
  }
  world.wait();
}

/// Panels, each of which starts the next one on the next rank, among updates that start nothing;
/// opposite: panels have a priority.
void priority(World& world, const Plan& plan) {
  const int panels = 8 * plan.size;
  constexpr int kUpdates = 4;
  std::function<void(int)> begin;
  const auto go =
      world.make_am([&](int panel) { begin(panel); }, {.delivery = Delivery::task, .name = "go"});
  begin = [&](int panel) {
    for (int i = 0; i <= kUpdates; ++i) {
      if (i != kUpdates / 2) {
        world.spawn([] { work(1500); }, {.name = "update"});
        continue;
      }
      // Place: priority*
      world.spawn(
          [&, panel] {
            work(3000);
            if (panel + 1 < panels) go.send(next_of(world), panel + 1);
          },
          {.priority = plan.opposite ? 1 : 0, .name = "panel"});
    }
  };
  if (world.rank() == 0) begin(0);
  world.wait();
}

/// A chain of panels behind updates in a flow.
void run_panels(World& world, const Plan& plan, std::shared_ptr<shoal::FlowScheduler> scheduler) {
  const int panels = 12 * plan.size;
  const int updates = 4 * panels;
  shoal::Flow flow(world, "panels", {.scheduler = std::move(scheduler)});
  const auto chain = flow.data(0, {.name = "chain"});
  std::vector<shoal::Data<int>> parts;
  for (int i = 0; i < updates; ++i) parts.push_back(flow.data(0, {.name = "part"}));
  shoal::Codelet panel("panel", [](int& value) {
    work(2000);
    ++value;
  });
  panel.set_priority(plan.opposite ? 1 : 0);
  const shoal::Codelet update("update", [](int& value) {
    work(2000);
    ++value;
  });
  // Place: flow_* opposite
  for (const auto& part : parts) flow.insert(update, read_write(part));
  // Place: flow_*
  for (int k = 0; k < panels; ++k) flow.insert(panel, read_write(chain));
  flow.wait();
}

/// The scheduler runs tasks as they became ready; opposite: panels have a priority, and it goes by
/// them.
void flow_priority(World& world, const Plan& plan) {
  run_panels(world, plan, plan.opposite ? shoal::priority_scheduler() : shoal::fifo_scheduler());
}

/// The scheduler goes by priorities, and there are none; opposite: panels have one.
void flow_by_priority(World& world, const Plan& plan) {
  run_panels(world, plan, shoal::priority_scheduler());
}

/// Likewise, and the scheduler gives tasks to the worker that is expected to end them first.
void flow_by_completion(World& world, const Plan& plan) {
  run_panels(world, plan, shoal::completion_scheduler());
}

/// Two ranks exchange a large vector again and again, and the others small ones; opposite: all
/// neighbours exchange large ones.
void hot(World& world, const Plan& plan) {
  const int rounds = 100 * plan.size;
  const std::vector<double> data(1 << 15, 1.0);
  std::function<void(Rank, int)> answer;
  // Place: hot*
  const auto large = world.make_am(
      [&](int from, int left, const std::vector<double>& values) {
        if (values.size() == data.size()) answer(Rank(from), left - 1);
      },
      {.delivery = Delivery::task, .name = "exchange"});
  answer = [&](Rank to, int left) {
    if (left > 0) large.send(to, world.rank().value(), left, data);
  };
  const auto small = world.make_am([](int) {}, {.name = "small"});
  if (world.rank() == 1) answer(Rank(2), rounds);
  if (plan.opposite && world.rank() != 1) answer(next_of(world), rounds);
  for (int rank = 0; rank < world.size(); ++rank) small.send(Rank(rank), rank);
  world.wait();
}

/// Rank 1 answers late, as its worker runs long tasks, each behind the other; opposite: it has
/// none.
void receiver(World& world, const Plan& plan) {
  const int rounds = 5 * plan.size;
  std::function<void(int)> ask;
  // Place: receiver opposite
  const auto reply = world.make_am([&](int left) { ask(left - 1); },
                                   {.delivery = Delivery::task, .name = "reply"});
  const auto question =
      // Place: receiver opposite
      world.make_am([&](int left) { reply.send(Rank(0), left); }, {.name = "question"});
  ask = [&](int left) {
    work(1000);
    if (left > 0) question.send(Rank(1), left);
  };
  if (world.rank() == 0) world.spawn([&] { ask(rounds); }, {.name = "asker"});
  std::function<void(int)> longs = [&](int left) {
    work(30'000);
    // Place: receiver
    if (left > 1) world.spawn([&longs, left] { longs(left - 1); }, {.name = "long"});
  };
  if (world.rank() == 1 && !plan.opposite) {
    // Place: receiver
    world.spawn([&] { longs(rounds - 1); }, {.name = "long"});
  }
  world.wait();
}

/// A rank sends more than its receiver can take, so that windows are full; opposite: it computes
/// between two messages.
void window(World& world, const Plan& plan) {
  const int count = 500 * plan.size;
  const std::vector<double> data(128, 1.0);
  // Place: window
  const auto take = world.make_am([](const std::vector<double>&) { spin(20); }, {.name = "take"});
  if (world.rank() == 0) {
    // Place: window opposite
    world.spawn(
        [&] {
          for (int i = 0; i < count; ++i) {
            if (plan.opposite) spin(200);  // the receiver has time for more than one
            take.send(Rank(1), data);
          }
        },
        {.name = "sender"});
  }
  world.wait();
}

/// Neighbours exchange messages, of which each needs the one before: for links that are slow.
void link(World& world, const Plan& plan) {
  std::function<void(Rank, int)> answer;
  // Place: link*
  const auto ball = world.make_am([&](int from, int left) { answer(Rank(from), left - 1); },
                                  {.delivery = Delivery::task, .name = "ball"});
  answer = [&](Rank to, int left) {
    work(100);
    if (left > 0) ball.send(to, world.rank().value(), left);
  };
  world.spawn([&] { answer(next_of(world), 40 * plan.size); }, {.name = "serve"});
  world.wait();
}

/// Tasks that are shorter than their overhead; opposite: longer ones.
void shorts(World& world, const Plan& plan) {
  const int count = plan.opposite ? 200 * plan.size : 20'000 * plan.size;
  for (int i = 0; i < count; ++i) {
    // Place: short*
    world.spawn(
        [&plan] {
          if (plan.opposite) return work(1000);
          shoal::compute(shoal::Cost::of_seconds(3e-7), [] {
            const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(300);
            while (std::chrono::steady_clock::now() < end) {
            }
          });
        },
        {.name = "tiny"});
  }
  world.wait();
}

/// Code of the main function before, between and after two loops; opposite: the loops alone.
void serial_loops(World& /*world*/, const Plan& plan) {
  const auto serial = [&plan] {
    if (!plan.opposite) work(20'000 * plan.size);
  };
  const auto loop = [&plan] {
    shoal::parallel_for(0, 20 * plan.size, [](int) { work(1000); }, {.name = "sweep"});
  };
  serial();
  loop();
  serial();
  loop();
  serial();
}

/// A loop of equal iterations.
void even_loop(World& /*world*/, const Plan& plan) {
  shoal::parallel_for(0, 80 * plan.size, [](int) { work(1000); }, {.name = "sweep"});
}

/// All iterations want one lock; opposite: none does.
void locked_loop(World& world, const Plan& plan) {
  shoal::Mutex mutex(world, "ledger");
  shoal::parallel_for(0, 80 * plan.size,
                      [&](int) {
                        if (!plan.opposite) mutex.lock();
                        work(1000);
                        if (!plan.opposite) mutex.unlock();
                      },
                      {.name = "booking"});
}

// --- programs whose path, bytes, names and dependencies are known

/// A vector is on its way to rank 1, and the third task writes into it, when that has ended.
void payload(World& world, const Plan& plan) {
  const auto count = static_cast<std::size_t>(1'000'000 * plan.size);
  shoal::Flow flow(world, "values");
  const auto values = flow.vector<double>(nullptr, count, {.name = "A[3]"});
  const auto sum = flow.data(0.0, {.owner = Rank(1), .name = "sum"});
  const shoal::Codelet make("make", [](std::span<double>) { work(2000); });
  const shoal::Codelet use("use", [](std::span<const double>, double&) {});
  const shoal::Codelet again("again", [](std::span<double>) { work(3000); });
  flow.insert(make, write(values));
  flow.insert(use, read(values), write(sum));
  flow.insert(again, write(values));
  flow.wait();
}

/// a before b and c, both before d, and event tasks that are ready together; opposite: what a task
/// needs has ended when it is inserted.
void diamond(World& world, const Plan& plan) {
  shoal::Flow flow(world, "diamond");
  const auto x = flow.data(0, {.name = "x[1,2]"});
  const auto y = flow.data(0, {.name = "y"});
  const auto z = flow.data(0, {.name = "z"});
  shoal::Codelet a("a", [](int&) { work(1000); });
  a.set_colour(0x336699);
  const shoal::Codelet b("b", [](const int&, int&) { work(2000); });
  const shoal::Codelet c("c", [](const int&, int&) { work(3000); });
  const shoal::Codelet d("d", [](const int&, const int&) { work(1000); });
  flow.insert(a, write(x));
  if (plan.opposite) flow.wait();
  flow.insert(b, read(x), write(y));
  flow.insert(c, read(x), write(z));
  if (plan.opposite) flow.wait();
  flow.insert(d, read(y), read(z));
  flow.wait();
  shoal::Events events(world);
  for (const char* const name : {"first", "second", "third"}) {
    events.submit({{shoal::self, "go"}}, [](shoal::EventList&) { work(1000); }, {.name = name});
  }
  for (int i = 0; i < 3; ++i) events.fire(shoal::self, "go");
  world.wait();
}

// --- healthy programs

void bag_of_tasks(World& world) {
  // Place: healthy 0
  for (int i = 0; i < 120; ++i) world.spawn([] { work(2000); }, {.name = "cell"});
  world.wait();
}

void stencil(World& world) {
  run_steps(world, 20, [](int) { work(3000); });
}

void chain(World& world) {
  std::function<void(int)> next = [&](int left) {
    work(2000);
    // Place: healthy 2
    if (left > 0) world.spawn([&next, left] { next(left - 1); }, {.name = "link"});
  };
  // Place: healthy 2
  world.spawn([&next] { next(40); }, {.name = "link"});
  world.wait();
}

void balanced_steps(World& world) {
  for (int step = 0; step < 8; ++step) {
    for (int i = 0; i < 4 * world.worker_count(); ++i) {
      // Place: healthy 3
      world.spawn([] { work(4000); }, {.name = "cell"});
    }
    world.wait();
  }
}

void ring(World& world) {
  std::function<void(int)> pass;
  const auto token =
      // Place: healthy 4
      world.make_am([&](int left) { pass(left); }, {.delivery = Delivery::task, .name = "token"});
  pass = [&](int left) {
    work(1500);
    if (left > 0) token.send(next_of(world), left - 1);
  };
  // Place: healthy 4
  if (world.rank() == 0) world.spawn([&] { pass(40); }, {.name = "token"});
  world.wait();
}

void all_to_all(World& world) {
  std::vector<long> sums(static_cast<std::size_t>(world.size()));
  const auto add = world.make_am(
      [&](int from, int value) { sums[static_cast<std::size_t>(from)] += value; }, {.name = "add"});
  for (int i = 0; i < 20; ++i) {
    // Place: healthy 5
    world.spawn(
        [&, i] {
          work(3000);
          for (int rank = 0; rank < world.size(); ++rank) {
            add.send(Rank(rank), world.rank().value(), i);
          }
        },
        {.name = "part"});
  }
  world.wait();
}

void split(World& world) {
  std::function<void(int)> halves = [&](int depth) {
    work(1500);
    if (depth == 0) return;
    for (int i = 0; i < 2; ++i) {
      // Place: healthy 6
      world.spawn([&halves, depth] { halves(depth - 1); }, {.name = "half"});
    }
  };
  // Place: healthy 6
  world.spawn([&halves] { halves(6); }, {.name = "half"});
  world.wait();
}

void flow_of_tiles(World& world) {
  shoal::Flow flow(world, "tiles");
  constexpr int kTiles = 6;
  std::vector<shoal::Data<int>> tile;
  for (int i = 0; i < kTiles * world.size(); ++i) {
    tile.push_back(flow.data(0, {.owner = Rank(i % world.size()), .name = "tile"}));
  }
  const shoal::Codelet relax("relax", [](const int& left, int& here) {
    work(2000);
    here += left;
  });
  for (int sweep = 0; sweep < 8; ++sweep) {
    for (std::size_t i = 1; i < tile.size(); ++i) {
      // Place: healthy 7
      flow.insert(relax, read(tile[i - 1]), read_write(tile[i]));
    }
  }
  flow.wait();
}

void locked_counters(World& world) {
  shoal::Mutex mutex(world, "counter");
  long count = 0;
  for (int i = 0; i < 80; ++i) {
    // Place: healthy 8
    world.spawn(
        [&] {
          work(3000);
          mutex.lock();
          ++count;
          mutex.unlock();
        },
        {.name = "cell"});
  }
  world.wait();
}

void bound_evenly(World& world) {
  for (int i = 0; i < 20 * world.worker_count(); ++i) {
    // Place: healthy 9
    world.spawn([] { work(3000); },
                {.worker = WorkerId(i % world.worker_count()), .bound = true, .name = "cell"});
  }
  world.wait();
}

/// A chain of tasks, each of which waits in its middle for the one before.
void relay(World& world) {
  // Place: healthy 10
  shoal::Future<void> last = world.async([] { work(4000); }, {.name = "link"});
  for (int i = 1; i < 30; ++i) {
    // Place: healthy 10
    last = world.async(
        [before = std::move(last)]() mutable {
          before.get();
          work(4000);
        },
        {.name = "link"});
  }
  last.get();
  world.wait();
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](World& world) {
    const std::vector<std::string> args(world.args().begin() + 1, world.args().end());
    if (args.at(0) == "healthy") {
      constexpr std::array kHealthy = {
          bag_of_tasks, stencil,       chain,           balanced_steps, ring, all_to_all,
          split,        flow_of_tiles, locked_counters, bound_evenly,   relay};
      kHealthy.at(static_cast<std::size_t>(std::stoi(args.at(1))))(world);
      return;
    }
    const std::map<std::string, void (*)(World&, const Plan&)> causes = {
        {"bound", bound},
        {"handlers", handlers},
        {"steps", steps},
        {"fences", fences},
        {"insertion", insertion},
        {"lock", lock},
        {"spins", spins},
        {"memory", memory},
        {"slow", slow},
        {"outlier", outlier},
        {"overloaded", overloaded},
        {"priority", priority},
        {"flow_priority", flow_priority},
        {"flow_by_priority", flow_by_priority},
        {"flow_by_completion", flow_by_completion},
        {"hot", hot},
        {"receiver", receiver},
        {"window", window},
        {"link", link},
        {"short", shorts},
        {"payload", payload},
        {"diamond", diamond},
        {"serial_loops", serial_loops},
        {"even_loop", even_loop},
        {"locked_loop", locked_loop}};
    const Plan plan{args.size() > 2 && args[2] == "opposite", args.at(1) == "large" ? 3 : 1};
    causes.at(args[0])(world, plan);
  });
}
