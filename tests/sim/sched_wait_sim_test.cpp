// Random programs of tasks that wait for each other in all ways there are, in simulated worlds.

#include <shoal/full_empty.hpp>
#include <shoal/future.hpp>
#include <shoal/shoal.hpp>
#include <shoal/sleep.hpp>
#include <shoal/sync.hpp>
#include <shoal/task_group.hpp>
#include <shoal/when.hpp>

#include "runtime/simulated_world.hpp"
#include "support/sim_config.hpp"
#include "support/sizes.hpp"
#include "support/wait_world.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sched_wait_sim_test {

using shoal::Future;
using shoal::Promise;
using shoal::Rank;
using shoal::RemoteError;
using shoal::RemotePromise;
using shoal::StuckError;
using shoal::TaskError;
using shoal::TaskGroup;
using shoal::World;
using shoal::runtime::SimulatedWorld;
using shoal::testing::Counted;
using shoal::testing::sim_config;
using shoal::testing::sized;
using testing::HasSubstr;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Actions of a node, one after the other. Actions up to `call_later` run a child.
enum class Kind {
  async,
  async_later,
  then,
  all,
  any,
  group,
  barrier,
  counter,
  cell,
  cancelled,  // a group, once the child has ended
  thrown,     // an exception in a group, likewise
  failed,     // a promise, by another rank
  call,
  call_later,
  lock,
  permit,
  sleep
};
constexpr int kChildKinds = static_cast<int>(Kind::call_later) + 1;
constexpr int kKinds = static_cast<int>(Kind::sleep) + 1;

struct Step {
  Kind kind = Kind::async;
  int number = 0;  // of the child, or of the lock, or microseconds
  int rank = 0;    // where a call goes
};

/// Mishap in the node with the number `where`.
enum class Mishap { none, failure, stuck };

/// A tree of nodes; each runs once. Its value is its number and the sum of its children's.
struct Plan {
  Plan(std::uint64_t seed, Mishap what) : mishap(what) {
    std::mt19937_64 random(seed);
    const auto up_to = [&random](int n) {
      return static_cast<int>(random() % static_cast<std::uint64_t>(n));
    };
    ranks = 1 + up_to(4);
    workers = 1 + up_to(3);
    main_runs = up_to(2) == 0;
    nodes.resize(index(10 + up_to(40)));
    const int count = static_cast<int>(nodes.size());
    for (int i = 1; i < count; ++i) {
      const int parent = std::max(0, i - 1 - up_to(6));
      nodes[index(parent)].push_back({static_cast<Kind>(up_to(kChildKinds)), i, up_to(ranks)});
    }
    for (auto& steps : nodes) {
      for (int i = up_to(4); i > 0; --i) {
        steps.push_back(
            {static_cast<Kind>(kChildKinds + up_to(kKinds - kChildKinds)), up_to(kLocks)});
      }
      std::shuffle(steps.begin(), steps.end(), random);
      for (const Step& step : steps) locked += step.kind == Kind::lock ? 1 : 0;
    }
    where = up_to(count);
  }

  static constexpr int kLocks = 3;
  const Mishap mishap;
  int ranks = 0;
  int workers = 0;
  bool main_runs = false;  // the first node; else a task does
  int where = -1;
  int locked = 0;
  std::vector<std::vector<Step>> nodes;
};

/// State shared by the tasks of a rank; on its main function's stack.
struct Shared {
  explicit Shared(World& world) : permits(world, 2) {
    for (int i = 0; i < Plan::kLocks; ++i) mutexes.push_back(std::make_unique<shoal::Mutex>(world));
  }
  std::vector<std::unique_ptr<shoal::Mutex>> mutexes;
  shoal::Semaphore permits;
  int inside = 0;
  std::vector<int> sums = std::vector<int>(Plan::kLocks, 0);
};

/// One run of a plan. There is one at a time, so that calls find it.
class Run {
 public:
  explicit Run(const Plan& plan) : plan_(plan), shared_(index(plan.ranks)) { current_ = this; }
  ~Run() { current_ = nullptr; }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  int main_function(World& world) {
    Shared mine(world);
    shared_[index(world.rank().value())] = &mine;
    world.barrier();
    if (world.rank() == 0) {
      if (plan_.main_runs) {
        value_ = node(world, 0);
      } else {
        world.spawn([&] { value_ = node(world, 0); });
      }
    }
    world.wait();
    for (const int sum : mine.sums) locked_ += sum;
    return 0;
  }

  [[nodiscard]] int value() const { return value_; }
  [[nodiscard]] int locked() const { return locked_; }
  [[nodiscard]] int alive() const { return alive_; }

 private:
  static int call_node(World& world, int number) { return current_->node(world, number); }
  static void fail_node(World& world, const RemotePromise<int>& promise, int number) {
    world.spawn([&world, promise, number] {
      world.fail(promise, std::to_string(current_->node(world, number)));
    });
  }

  int node(World& world, int number) {
    const Counted counted(alive_);
    int value = number;
    std::vector<Future<int>> later;
    for (const Step& step : plan_.nodes[index(number)]) {
      if (step.kind <= Kind::call_later) {
        value += child(world, step, later);
      } else {
        wait_in(world, step);
      }
    }
    if (number == plan_.where) go_wrong(world);
    for (Future<int>& one : later) value += one.get();
    return value;
  }

  int child(World& world, const Step& step, std::vector<Future<int>>& later) {
    const auto run = [this, &world, number = step.number] { return node(world, number); };
    switch (step.kind) {
      case Kind::async:
        return world.async(run).get();
      case Kind::async_later:
        later.push_back(world.async(run));
        return 0;
      case Kind::then:
        return world.async(run).then([](int x) { return x + 1; }).get() - 1;
      case Kind::all: {
        auto [x, y] = shoal::when_all(world.async(run), world.async([] { return 5; })).get();
        return x + y - 5;
      }
      case Kind::any:
        return first_ready(world.async(run));
      case Kind::call:
        return world.call(Rank(step.rank), shoal::am<&Run::call_node>, step.number).get();
      case Kind::call_later:
        later.push_back(world.call(Rank(step.rank), shoal::am<&Run::call_node>, step.number));
        return 0;
      case Kind::failed:
        return from_failure(world, step);
      default:
        return in_group(world, step.kind, run);
    }
  }

  static int first_ready(Future<int> future) {
    Promise<int> other("what is not ready");
    std::vector<Future<int>> futures;
    futures.push_back(other.future());
    futures.push_back(std::move(future));
    auto ready = shoal::when_any(std::move(futures)).get();
    EXPECT_EQ(ready.index, 1U);
    EXPECT_FALSE(ready.futures[0].is_ready());
    other.set_value(0);
    return ready.futures[0].get() + ready.futures[1].get();
  }

  static int from_failure(World& world, const Step& step) {
    Promise<int> promise("what fails");
    auto future = promise.future();
    world.send(Rank(step.rank), shoal::am<&Run::fail_node>, world.publish(std::move(promise)),
               step.number);
    try {
      future.get();
    } catch (const RemoteError& error) {
      EXPECT_EQ(error.rank(), step.rank);
      return std::stoi(error.text());
    }
    ADD_FAILURE() << "it has not failed";
    return 0;
  }

  template <class F>
  static int in_group(World& world, Kind kind, const F& run) {
    int value = 0;
    shoal::Barrier barrier(2);
    shoal::Latch counter(1);
    shoal::FullEmpty<int> cell;
    TaskGroup group;  // has ended before what its tasks use
    switch (kind) {
      case Kind::barrier:
        group.spawn([&] {
          value = run();
          barrier.arrive_and_wait();
        });
        barrier.arrive_and_wait();
        break;
      case Kind::cell:
        group.spawn([&] { cell.write_ef(run()); });
        value = cell.read_fe();
        break;
      case Kind::group:
        group.spawn([&] { value = run(); });
        break;
      default:
        group.spawn([&] {
          value = run();
          counter.count_down();
          if (kind == Kind::cancelled) await_cancel(world);
          if (kind == Kind::thrown) throw Expected();
        });
        if (kind == Kind::thrown) group.spawn([&] { throw_late(world, counter); });
        counter.wait();
    }
    end(group, kind);
    return value;
  }

  struct Expected {};

  static void await_cancel(World& world) {
    while (!shoal::is_cancelled() && !world.core().failed()) shoal::yield();
  }
  static void throw_late(World& world, shoal::Latch& counter) {
    counter.wait();
    await_cancel(world);
    throw std::runtime_error("not the first exception");
  }
  static void end(TaskGroup& group, Kind kind) {
    if (kind == Kind::cancelled) group.cancel();
    try {
      group.wait();
      EXPECT_NE(kind, Kind::thrown) << "nothing was thrown";
    } catch (const Expected&) {
      EXPECT_EQ(kind, Kind::thrown);
    }
    EXPECT_EQ(group.is_cancelled(), kind == Kind::cancelled || kind == Kind::thrown);
  }

  void wait_in(World& world, const Step& step) {
    Shared& shared = *shared_[index(world.rank().value())];
    if (step.kind == Kind::lock) {
      const std::scoped_lock lock(*shared.mutexes[index(step.number)]);
      const int seen = shared.sums[index(step.number)];
      shoal::yield();
      shared.sums[index(step.number)] = seen + 1;
    } else if (step.kind == Kind::permit) {
      shared.permits.acquire();
      EXPECT_LE(++shared.inside, 2);
      shoal::yield();
      --shared.inside;
      shared.permits.release();
    } else {
      shoal::sleep_for(std::chrono::microseconds(step.number));
    }
  }

  void go_wrong(World& world) {
    if (plan_.mishap == Mishap::failure) {
      world.spawn([] { throw std::runtime_error("chosen"); });
    } else if (plan_.mishap == Mishap::stuck) {
      Promise<int> never("never given");
      auto future = never.future();
      future.wait();
    }
  }

  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static inline Run* current_ = nullptr;
  const Plan& plan_;
  std::vector<Shared*> shared_;
  int value_ = -1;
  int locked_ = 0;
  std::atomic<int> alive_{0};
};

struct Outcome {
  int value = 0;
  int locked = 0;
  int alive = 0;
  std::uint64_t hash = 0;
  std::vector<std::exception_ptr> errors;
};

Outcome run_plan(const Plan& plan, std::uint64_t seed) {
  constexpr std::uint64_t kOrders = 6;
  shoal::runtime::Config config = sim_config(plan.ranks, plan.workers, seed);
  config.sim_order = static_cast<shoal::sim::OrderKind>(seed % kOrders);
  config.ranks_per_process = seed / kOrders % 2 == 0 ? 1 : plan.ranks;
  config.stack_bytes = std::size_t{128} << 10U;
  Run run(plan);
  Outcome outcome;
  {
    SimulatedWorld world(config);
    world.run([&](World& mine) { return run.main_function(mine); });
    for (const auto& rank : world.ranks()) outcome.errors.push_back(rank->error());
    outcome.hash = world.trace().hash();
  }
  outcome.value = run.value();
  outcome.locked = run.locked();
  outcome.alive = run.alive();
  return outcome;
}

constexpr std::uint64_t kSeeds = sized(400, 40);

TEST(WaitSim, RandomPrograms_GiveWhatASequentialOneGives) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Plan plan(seed, Mishap::none);
    const Outcome outcome = run_plan(plan, seed);
    const int count = static_cast<int>(plan.nodes.size());
    for (const auto& error : outcome.errors) {
      ASSERT_EQ(error, nullptr) << "seed " << seed << ": " << shoal::describe(error);
    }
    ASSERT_EQ(outcome.value, count * (count - 1) / 2) << "seed " << seed;
    ASSERT_EQ(outcome.locked, plan.locked) << "seed " << seed;
    ASSERT_EQ(outcome.alive, 0) << "seed " << seed;
  }
}

TEST(WaitSim, OfOneSeed_IsTheSameTwice) {
  for (std::uint64_t seed = 0; seed < kSeeds / 8; ++seed) {
    const auto mishap = static_cast<Mishap>(seed % 3);
    const Plan plan(seed, mishap);
    ASSERT_EQ(run_plan(plan, seed).hash, run_plan(plan, seed).hash) << "seed " << seed;
  }
}

TEST(WaitSim, WithATaskThatThrows_FailsEverywhereAndLeavesNobodyBehind) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Plan plan(seed, Mishap::failure);
    const Outcome outcome = run_plan(plan, seed);
    for (const auto& error : outcome.errors) {
      ASSERT_NE(error, nullptr) << "seed " << seed;
      ASSERT_THROW(std::rethrow_exception(error), TaskError) << "seed " << seed;
      ASSERT_THAT(shoal::describe(error), HasSubstr("chosen")) << "seed " << seed;
    }
    ASSERT_EQ(outcome.alive, 0) << "seed " << seed;
  }
}

TEST(WaitSim, WithATaskThatWaitsForEver_IsStuckEverywhereAndLeavesNobodyBehind) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Plan plan(seed, Mishap::stuck);
    const Outcome outcome = run_plan(plan, seed);
    for (const auto& error : outcome.errors) {
      ASSERT_NE(error, nullptr) << "seed " << seed;
      ASSERT_THROW(std::rethrow_exception(error), StuckError)
          << "seed " << seed << ": " << shoal::describe(error);
      ASSERT_THAT(shoal::describe(error), HasSubstr("never given")) << "seed " << seed;
    }
    ASSERT_EQ(outcome.alive, 0) << "seed " << seed;
  }
}

}  // namespace sched_wait_sim_test
