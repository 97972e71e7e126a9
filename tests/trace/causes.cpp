// Runs over 4 processes with one cause of slowness each: used by
// tests/suites/trace_runs.py. Work is time asleep, which other programs on the machine do not
// prolong by much.
//
//   causes healthy|slow|queued|urgent|hot|short

#include <shoal/shoal.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

using shoal::Rank;
using shoal::World;

void work(std::chrono::milliseconds duration) { std::this_thread::sleep_for(duration); }

/// Steps on all ranks, each after the last step of all; on one rank it may take longer.
void run_steps(World& world, int slow_rank) {
  constexpr int kSteps = 10;
  using Key = std::array<int, 2>;  // step, rank
  shoal::TaskGraph<Key> steps(world, "step");
  steps.set_rank([](Key k) { return Rank(k[1]); })
      .set_indegree([&](Key k) { return k[0] == 0 ? 1 : world.size(); })
      .set_mapping([](Key) { return 0; })
      .set_task([&](Key k) {
        work(std::chrono::milliseconds(k[1] == slow_rank ? 20 : 5));
        for (int rank = 0; rank < world.size() && k[0] + 1 < kSteps; ++rank) {
          steps.fulfill({k[0] + 1, rank});
        }
      });
  steps.fulfill({0, world.rank().value()});
  world.wait();
}

/// Panels, each of which starts the next one on the next rank, among updates that start nothing.
void run_panels(World& world, int priority) {
  constexpr int kPanels = 8;
  constexpr int kUpdates = 12;
  const Rank next((world.rank().value() + 1) % world.size());
  std::function<void(int)> begin;
  const auto go =
      world.make_am([&](int panel) { begin(panel); }, {.delivery = shoal::Delivery::task});
  begin = [&](int panel) {
    for (int i = 0; i <= kUpdates; ++i) {
      if (i != kUpdates / 2) {
        world.spawn([] { work(std::chrono::milliseconds(2)); }, {.name = "update"});
        continue;
      }
      world.spawn(
          [&go, next, panel] {
            work(std::chrono::milliseconds(2));
            if (panel + 1 < kPanels) go.send(next, panel + 1);
          },
          {.priority = priority, .name = "panel"});
    }
  };
  if (world.rank() == 0) begin(0);
  world.wait();
}

/// Two ranks exchange a large vector again and again; the others, small ones.
void run_exchange(World& world) {
  constexpr int kRounds = 100;
  const std::vector<double> data(1 << 15, 1.0);
  std::function<void(Rank, int)> answer;
  const auto large = world.make_am(
      [&](int from, int left, const std::vector<double>& values) {
        if (values.size() == data.size()) answer(Rank(from), left - 1);
      },
      {.delivery = shoal::Delivery::task, .name = "exchange"});
  answer = [&](Rank to, int left) {
    if (left > 0) large.send(to, world.rank().value(), left, data);
  };
  const auto small = world.make_am([](int) {});
  if (world.rank() == 1) answer(Rank(2), kRounds);
  for (int rank = 0; rank < world.size(); ++rank) small.send(Rank(rank), rank);
  world.wait();
}

/// Tasks of 0.3 microseconds: their overhead is clear also where other programs lengthen the rest.
void run_short(World& world) {
  constexpr int kTasks = 50'000;
  for (int i = 0; i < kTasks; ++i) {
    world.spawn(
        [] {
          const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(300);
          while (std::chrono::steady_clock::now() < end) {
          }
        },
        {.name = "tiny"});
  }
  world.wait();
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](World& world) {
    const std::string cause = world.args()[1];
    if (cause == "healthy") return run_steps(world, -1);
    if (cause == "slow") return run_steps(world, 2);
    if (cause == "queued") return run_panels(world, 0);
    if (cause == "urgent") return run_panels(world, 1);
    if (cause == "hot") return run_exchange(world);
    run_short(world);
  });
}
