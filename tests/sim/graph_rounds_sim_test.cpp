// Rounds of random graphs that hand results on by Outputs, compared with a sequential evaluation.

#include <shoal/shoal.hpp>

#include "support/run_world.hpp"
#include "support/sizes.hpp"
#include "support/turn_world.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace graph_rounds_sim_test {

using shoal::Outputs;
using shoal::Rank;
using shoal::TaskGraph;
using shoal::World;
using shoal::testing::run_turns;
using shoal::testing::sized;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Each task needs the results of some with smaller numbers; `all` of them in each round.
struct Plan {
  int tasks = 0;
  int rounds = 0;
  std::vector<std::vector<int>> before;
  std::vector<std::vector<int>> after;
};

Plan make_plan(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Plan plan{.tasks = 5 + static_cast<int>(random() % 40), .rounds = 3, .before = {}, .after = {}};
  plan.before.resize(index(plan.tasks));
  plan.after.resize(index(plan.tasks));
  for (int task = 1; task < plan.tasks; ++task) {
    for (int earlier = 0; earlier < task; ++earlier) {
      if (random() % 8 != 0) continue;
      plan.before[index(task)].push_back(earlier);
      plan.after[index(earlier)].push_back(task);
    }
  }
  return plan;
}

std::uint64_t combine(int round, int task, const std::vector<std::uint64_t>& inputs) {
  std::uint64_t value = static_cast<std::uint64_t>(1 + round * 1000 + task);
  for (const std::uint64_t input : inputs) value = value * 0x9e3779b97f4a7c15U + input;
  return value;
}

std::vector<std::uint64_t> expected_values(const Plan& plan, int round) {
  std::vector<std::uint64_t> values(index(plan.tasks));
  for (int task = 0; task < plan.tasks; ++task) {
    std::vector<std::uint64_t> inputs;
    for (const int earlier : plan.before[index(task)]) inputs.push_back(values[index(earlier)]);
    values[index(task)] = combine(round, task, inputs);
  }
  return values;
}

/// A result that counts how many there are.
class Result {
 public:
  Result(std::uint64_t value, std::atomic<int>& live) : value_(value), live_(&live) { ++*live_; }
  Result(Result&& other) noexcept : value_(other.value_), live_(other.live_) { ++*live_; }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  ~Result() { --*live_; }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_;
  std::atomic<int>* live_;
};

/// Rounds of one rank. `found` has the values of all tasks of the round, of all ranks.
class Rounds {
 public:
  Rounds(World& world, const Plan& plan, bool dense, std::atomic<int>& live)
      : world_(world),
        plan_(plan),
        live_(live),
        outputs_(world, "results"),
        graph_(world, "tasks"),
        found_(index(plan.tasks)),
        hand_over_(world.make_am([this](int task, std::uint64_t value) { accept(task, value); })) {
    graph_
        .set_indegree([this](int task) {
          const std::size_t count = plan_.before[index(task)].size();
          return count == 0 ? 1 : static_cast<int>(count);
        })
        .set_mapping([this](int task) { return task % world_.worker_count(); })
        .set_task([this](int task) { run(task); });
    if (dense) graph_.set_dense(index(plan.tasks), [](int task) { return index(task); });
  }

  void run_round(int round) {
    round_ = round;
    if (round > 0) graph_.reset();
    world_.barrier();
    for (int task = 0; task < plan_.tasks; ++task) {
      if (is_mine(task) && plan_.before[index(task)].empty()) graph_.fulfill(task);
    }
    world_.wait();
    EXPECT_EQ(outputs_.size(), 0U);
    outputs_.check_all_read();
    const std::vector<std::uint64_t> expected = expected_values(plan_, round);
    for (int task = 0; task < plan_.tasks; ++task) {
      if (!is_mine(task)) continue;
      EXPECT_EQ(found_[index(task)], expected[index(task)]) << task;
    }
  }

 private:
  [[nodiscard]] Rank rank_of(int task) const { return Rank(task % world_.size()); }
  [[nodiscard]] bool is_mine(int task) const { return rank_of(task) == world_.rank(); }
  [[nodiscard]] int readers(int task, Rank rank) const {
    int count = 0;
    for (const int later : plan_.after[index(task)]) count += rank_of(later) == rank ? 1 : 0;
    return count;
  }

  void run(int task) {
    std::vector<std::uint64_t> inputs;
    for (const int earlier : plan_.before[index(task)]) {
      inputs.push_back(outputs_.take(earlier)->value());
    }
    const std::uint64_t value = combine(round_, task, inputs);
    found_[index(task)] = value;
    for (int rank = 0; rank < world_.size(); ++rank) {
      if (readers(task, Rank(rank)) == 0) continue;
      if (rank == world_.rank()) {
        accept(task, value);
      } else {
        hand_over_.send(Rank(rank), task, value);
      }
    }
  }
  void accept(int task, std::uint64_t value) {
    outputs_.put(task, Result(value, live_), readers(task, world_.rank()));
    for (const int later : plan_.after[index(task)]) {
      if (is_mine(later)) graph_.fulfill(later);
    }
  }

  World& world_;
  const Plan& plan_;
  std::atomic<int>& live_;
  Outputs<int, Result> outputs_;
  TaskGraph<int> graph_;
  std::vector<std::uint64_t> found_;  // each by its task, of this rank
  std::atomic<int> round_{0};         // handlers of a round come after its barrier
  shoal::ActiveMessage<int, std::uint64_t> hand_over_;
};

int run_plan(World& world, const Plan& plan, bool dense, std::atomic<int>& live) {
  Rounds rounds(world, plan, dense, live);
  for (int round = 0; round < plan.rounds; ++round) rounds.run_round(round);
  return 0;
}

TEST(GraphRounds, RandomGraphsWithOutputs_HaveTheValuesOfASequentialRun) {
  constexpr std::uint64_t kSeeds = sized(600, 60);
  for (std::uint64_t seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
    const Plan plan = make_plan(seed);
    std::atomic<int> live{0};
    const auto result =
        run_turns({.seed = seed, .ranks = 1 + static_cast<int>(seed % 4), .workers = 2},
                  [&](World& world) { return run_plan(world, plan, seed % 2 == 0, live); });
    for (const auto& error : result.errors) {
      EXPECT_EQ(error == nullptr ? "" : shoal::describe(error), "") << "seed " << seed;
    }
    EXPECT_EQ(live, 0) << "seed " << seed;
  }
}

}  // namespace graph_rounds_sim_test
