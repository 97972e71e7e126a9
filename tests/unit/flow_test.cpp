// Sequential flows: what programs rely on, and what they are told when they are wrong.

#include "support/run_world.hpp"
#include "support/sizes.hpp"
#include "support/turn_world.hpp"

#include <shoal/object.hpp>
#include <shoal/shoal.hpp>
#include <shoal/sleep.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace flow_test {

using shoal::Codelet;
using shoal::commutative;
using shoal::Data;
using shoal::Flow;
using shoal::FlowOptions;
using shoal::MatrixView;
using shoal::on_cheapest;
using shoal::on_rank;
using shoal::Rank;
using shoal::read;
using shoal::read_write;
using shoal::reduction;
using shoal::scratch;
using shoal::StuckError;
using shoal::with_priority;
using shoal::World;
using shoal::write;
using shoal::testing::error_of;
using shoal::testing::run_seeds;
using shoal::testing::run_turns;
using shoal::testing::run_world;
using testing::HasSubstr;

/// Errors of all ranks, one after the other.
std::string errors_of(int ranks, const std::function<void(World&)>& program,
                      std::uint64_t seed = 5) {
  const auto result = run_turns({.seed = seed, .ranks = ranks, .workers = 1}, [&](World& world) {
    program(world);
    return 0;
  });
  std::string text;
  for (const std::exception_ptr& error : result.errors) {
    if (error != nullptr) text += shoal::describe(error) + "\n";
  }
  return text;
}

TEST(Flow, Tasks_SeeWhatTheOnesBeforeHaveWritten) {
  run_seeds(24, 1, 3, [](World& world) {
    Flow flow(world);
    const auto a = flow.data(1);
    const auto b = flow.data(0);
    for (int i = 0; i < 50; ++i) {
      flow.insert([](const int& from, int& to) { to += from; }, read(a), read_write(b));
      flow.insert([](int& to, const int& from) { to = from % 1000 + 1; }, write(a), read(b));
    }
    int x = 1;
    int y = 0;
    for (int i = 0; i < 50; ++i) {
      y += x;
      x = y % 1000 + 1;
    }
    EXPECT_EQ(flow.get(a), x);
    EXPECT_EQ(flow.get(b), y);
  });
}

TEST(Flow, Version_TravelsOnceToEachRank) {
  run_seeds(24, 3, 1, [](World& world) {
    Flow flow(world);
    const auto a = flow.data(std::vector<int>(10, 7), {.owner = Rank(0)});
    const auto sum = flow.data(0, {.owner = Rank(1)});
    world.wait();
    const auto before = world.statistics().messages_sent;
    for (int i = 0; i < 20; ++i) {
      flow.insert([](const std::vector<int>& from, int& to) { to += from[0]; }, read(a),
                  read_write(sum));
    }
    flow.wait();
    world.wait();
    if (world.rank() == 0) {
      EXPECT_EQ(world.statistics().messages_sent - before, 1U);
    }
    flow.flush(a);
    flow.insert([](const std::vector<int>& from, int& to) { to += from[0]; }, read(a),
                read_write(sum));
    flow.wait();
    world.wait();
    if (world.rank() == 0) {
      EXPECT_EQ(world.statistics().messages_sent - before, 2U);
    }
    EXPECT_EQ(flow.get(sum), 147);
  });
}

TEST(Flow, Sends_OfAValueThatIsNotReadyAreOneBroadcast) {
  run_seeds(24, 5, 1, [](World& world) {
    Flow flow(world);
    const auto a = flow.data(std::vector<int>(), {.owner = Rank(0)});
    std::vector<Data<int>> sums;
    for (int rank = 0; rank < 5; ++rank) sums.push_back(flow.data(0, {.owner = Rank(rank)}));
    auto held = flow.acquire(read_write(a));
    flow.insert([](std::vector<int>& values) { values.assign(100, 3); }, read_write(a));
    for (const auto& sum : sums) {
      flow.insert([](const std::vector<int>& values, int& to) { to = values.back(); }, read(a),
                  write(sum));
    }
    held.release();
    flow.wait();
    if (world.rank() == 0) {
      EXPECT_EQ(flow.statistics().broadcasts, 1U);
      EXPECT_EQ(flow.statistics().recipients, 4U);
      EXPECT_EQ(flow.statistics().missed, 0U);
      // A value of 100 integers, and its number of elements.
      EXPECT_EQ(flow.statistics().broadcast_bytes, 100 * sizeof(int) + 8);
      EXPECT_EQ(flow.statistics().broadcast_bytes_most, 100 * sizeof(int) + 8);
    }
    for (const auto& sum : sums) EXPECT_EQ(flow.get(sum), 3);
  });
}

TEST(Flow, Sends_OfAValueThatHasLeftAreMissedBroadcasts) {
  run_seeds(24, 4, 1, [](World& world) {
    Flow flow(world);
    const auto a = flow.data(std::vector<int>(1000, 3), {.owner = Rank(0)});
    const auto b = flow.data(std::vector<int>(10, 4), {.owner = Rank(0)});
    const auto reader = [](const std::vector<int>& values, int& to) { to += values.back(); };
    for (int rank = 1; rank < 4; ++rank) {
      const auto sum = flow.data(0, {.owner = Rank(rank)});
      for (const auto& values : {a, b}) flow.insert(reader, read(values), read_write(sum));
      EXPECT_EQ(flow.get(sum), 7);
      flow.wait();
      world.barrier();
    }
    if (world.rank() == 0) {
      const auto counts = flow.statistics();
      EXPECT_EQ(counts.broadcasts, 0U);
      EXPECT_EQ(counts.missed, 4U);  // of both, to ranks 2 and 3
      EXPECT_EQ(counts.missed_bytes, 2 * (1010 * sizeof(int) + 2 * 8));
      EXPECT_EQ(counts.missed_bytes_most, 1000 * sizeof(int) + 8);
    }
  });
}

// Rank 6 is the most urgent one and passes the value on to two others: after it has read it, and
// before it changes it.
TEST(Flow, Broadcast_IsReadWhileItIsPassedOn) {
  constexpr int kRanks = 7;
  // A process for each rank, no faults, and a seed with which rank 6 answers first: the payload of
  // a rank that answers earlier leaves earlier.
  constexpr std::uint64_t kSeed = 24;
  std::vector<std::uint64_t> read_ns(kRanks, 0);
  std::uint64_t released_ns = 0;
  std::uint64_t written_ns = 0;
  const auto result = run_turns({.seed = kSeed, .ranks = kRanks, .workers = 1}, [&](World& world) {
    Flow flow(world, "forwarded", {.broadcast_tree = {shoal::TreeShape::binomial}});
    const auto value = flow.vector<double>(nullptr, 1U << 19U, {.owner = Rank(0)});
    auto held = flow.acquire(write(value));
    if (held.here()) std::ranges::fill(held.get(), 1.0);
    std::vector<Data<double>> sums;
    for (int rank = 0; rank < kRanks; ++rank) sums.push_back(flow.data(0.0, {.owner = Rank(rank)}));
    for (int rank = 1; rank < kRanks; ++rank) {
      const auto sum = [&world, &read_ns](std::span<const double> values, double& to) {
        read_ns[static_cast<std::size_t>(world.rank().value())] = world.now_ns();
        to = std::accumulate(values.begin(), values.end(), 0.0);
      };
      flow.insert(sum, read(value), write(sums[static_cast<std::size_t>(rank)]),
                  with_priority(rank));
    }
    flow.insert(
        [&](std::span<double> values) {
          written_ns = world.now_ns();
          std::ranges::fill(values, 2.0);
        },
        read_write(value), on_rank(Rank(6)));
    world.barrier();
    if (held.here()) released_ns = world.now_ns();
    held.release();
    flow.wait();
    for (int rank = 1; rank < kRanks; ++rank) {
      EXPECT_EQ(flow.get(sums[static_cast<std::size_t>(rank)]), 1U << 19U) << rank;
    }
    return 0;
  });
  for (const std::exception_ptr& error : result.errors) {
    ASSERT_EQ(error, nullptr) << shoal::describe(error);
  }
  const std::uint64_t arrival_ns = read_ns[6] - released_ns;
  EXPECT_LT(read_ns[6], *std::min_element(read_ns.begin() + 1, read_ns.begin() + 4));
  EXPECT_GT(written_ns - read_ns[6], arrival_ns / 4);
}

// Rank 1 begins to insert when rank 0 has computed everything.
TEST(Flow, EarlyValues_TakeNoMoreThanTheirShare) {
  constexpr int kValues = 40;
  static constexpr std::size_t kShare = 8192;
  for (const std::size_t words : {std::size_t{100}, std::size_t{4000}}) {
    SCOPED_TRACE(words);
    run_seeds(shoal::testing::sized_on_one_thread(24, 8), 3, 1, [words](World& world) {
      Flow flow(world, "early", {.early_bytes_max = 2 * kShare});
      std::vector<Data<std::span<std::uint64_t>>> values;
      std::vector<Data<std::vector<std::uint64_t>>> lists;
      for (int i = 0; i < kValues; ++i) {
        values.push_back(flow.vector<std::uint64_t>(nullptr, words, {.owner = Rank(0)}));
        lists.push_back(flow.data(std::vector<std::uint64_t>(), {.owner = Rank(0)}));
      }
      const auto sum = flow.data(std::uint64_t{0}, {.owner = Rank(1)});
      const auto other = flow.data(std::uint64_t{0}, {.owner = Rank(2)});
      if (world.rank() == 1) shoal::sleep_for(std::chrono::seconds(1));
      const auto add = [](std::span<const std::uint64_t> value,
                          const std::vector<std::uint64_t>& list,
                          std::uint64_t& to) { to += value.back() + list.back(); };
      for (int i = 0; i < kValues; ++i) {
        const auto at = static_cast<std::size_t>(i);
        flow.insert(
            [words](std::span<std::uint64_t> value, std::vector<std::uint64_t>& list, int number) {
              std::ranges::fill(value, 1);
              list.assign(words, static_cast<std::uint64_t>(number));
            },
            write(values[at]), write(lists[at]), i);
        flow.insert(add, read(values[at]), read(lists[at]), read_write(sum));
        flow.insert(add, read(values[at]), read(lists[at]), read_write(other));
      }
      flow.wait();
      const shoal::FlowStatistics counts = flow.statistics();
      EXPECT_LE(counts.early_bytes_most, std::max<std::size_t>(kShare, 8 * words + 256));
      if (world.rank() == 0) {
        EXPECT_GT(counts.announced, 0U);
      }
      if (world.rank() == 1) {
        EXPECT_GT(counts.early_bytes_most, 0U);
      }
      EXPECT_EQ(flow.get(sum), 820U);
      EXPECT_EQ(flow.get(other), 820U);
    });
  }
}

TEST(Flow, Matrix_WithLeadingDimension_ComesBackToItsMemory) {
  run_seeds(24, 2, 1, [](World& world) {
    std::vector<double> memory(5 * 3, -1);
    Flow flow(world);
    const bool here = world.rank() == 0;
    const auto a = flow.matrix<double>(here ? memory.data() : nullptr, 4, 3, 5);
    flow.migrate(a, Rank(1));
    flow.insert(
        [](MatrixView<double> view) {
          for (std::size_t j = 0; j < 3; ++j) {
            for (std::size_t i = 0; i < 4; ++i) view(i, j) = static_cast<double>(10 * i + j);
          }
        },
        write(a));
    flow.unregister(a);
    if (!here) return;
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(memory[5 * j + i], static_cast<double>(10 * i + j));
      }
      EXPECT_EQ(memory[5 * j + 4], -1);  // between the columns
    }
  });
}

TEST(Flow, Modes_CommutativeReductionScratch) {
  run_seeds(24, 4, 2, [](World& world) {
    Flow flow(world);
    const auto sum = flow.data(100L, {.owner = Rank(1)});
    const auto list = flow.data(std::vector<int>(), {.owner = Rank(2)});
    const auto room = flow.vector<int>(nullptr, 16);
    flow.set_reduction(
        sum, [](long& zero) { zero = 0; }, [](long& into, const long& from) { into += from; });
    for (int i = 0; i < 40; ++i) {
      flow.insert(
          [](long& partial, std::span<int> work, int number) {
            std::fill(work.begin(), work.end(), number);
            partial += std::accumulate(work.begin(), work.end(), 0) / 16;
          },
          reduction(sum), scratch(room), i, on_rank(Rank(i % world.size())));
      flow.insert([](std::vector<int>& values, int number) { values.push_back(number); },
                  commutative(list), i);
    }
    EXPECT_EQ(flow.get(sum), 100 + 780);
    auto values = flow.get(list);
    std::sort(values.begin(), values.end());
    for (int i = 0; i < 40; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i);
  });
}

TEST(Flow, Unregister_LeavesTasksTheirScratchMemory) {
  run_seeds(24, 2, 2, [](World& world) {
    Flow flow(world);
    const auto sum = flow.data(0L, {.owner = Rank(1)});
    const auto room = flow.vector<int>(nullptr, 1000);
    auto held = flow.acquire(read_write(sum));
    for (int i = 0; i < 10; ++i) {
      flow.insert(
          [](long& value, std::span<int> work) {
            std::fill(work.begin(), work.end(), 1);
            value += std::accumulate(work.begin(), work.end(), 0);
          },
          read_write(sum), scratch(room));
    }
    flow.unregister(room);
    const auto other = flow.vector<int>(nullptr, 3);  // has a place in which the room may have been
    flow.insert([](std::span<int> values) { std::fill(values.begin(), values.end(), 7); },
                write(other), on_rank(Rank(1)));
    held.release();
    EXPECT_EQ(flow.get(sum), 10'000);
  });
}

TEST(Flow, Throttle_HoldsTheInserterBack) {
  run_seeds(24, 2, 2, [](World& world) {
    Flow flow(world, "small", {.tasks_max = 8});
    const auto a = flow.data(0, {.owner = Rank(1)});
    std::uint64_t most = 0;
    for (int i = 0; i < 300; ++i) {
      flow.insert([](int& value) { ++value; }, read_write(a));
      most = std::max(most, flow.sequence().under_way());
    }
    EXPECT_LE(most, 8U);
    EXPECT_EQ(flow.get(a), 300);
  });
}

TEST(Flow, Pruned_RanksInsertWhatConcernsThem) {
  run_seeds(24, 3, 1, [](World& world) {
    Flow flow(world, "pruned", {.pruned = true});
    const auto a = flow.data(1, {.owner = Rank(0), .tag = 10});
    const auto b = flow.data(0, {.owner = Rank(1), .tag = 11});
    const int rank = world.rank();
    for (int i = 0; i < 5; ++i) {
      if (rank == 0) flow.insert([](int& value) { value *= 2; }, read_write(a));
    }
    if (rank != 2) flow.insert([](int& to, const int& from) { to = from; }, write(b), read(a));
    flow.wait();
    if (rank == 1) {
      const auto mine = flow.acquire(read(b));
      EXPECT_EQ(mine.get(), 32);
    }
  });
}

void expect_pruned_too_much(int ranks, const std::string& expected,
                            const std::function<void(World&)>& program) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    EXPECT_THAT(errors_of(ranks, program, seed), HasSubstr(expected)) << "seed " << seed;
  }
}

void copy_int(const int& from, int& to) { to = from; }

TEST(Flow, PrunedTooMuch_AWriteThatTheReaderLeavesOut_IsAnError) {
  expect_pruned_too_much(2,
                         "rank 0 has sent value 2 of 'x' to rank 1, where no insertion receives it",
                         [](World& world) {
                           Flow flow(world, "pruned", {.pruned = true});
                           const auto x = flow.data(1, {.owner = Rank(0), .tag = 1, .name = "x"});
                           const auto y = flow.data(0, {.owner = Rank(1), .tag = 2, .name = "y"});
                           flow.insert(copy_int, read(x), write(y));
                           if (world.rank() == 0)
                             flow.insert([](int& value) { value = 2; }, write(x));
                           flow.insert(copy_int, read(x), write(y));
                           flow.wait();
                         });
}

TEST(Flow, PrunedTooMuch_AReadThatTheReaderLeavesOut_IsAnError) {
  expect_pruned_too_much(
      3, "rank 0 has sent value 1 of 'x' to rank 2, where no insertion receives it",
      [](World& world) {
        Flow flow(world, "pruned", {.pruned = true});
        const auto x =
            flow.vector<int>(nullptr, 100'000, {.owner = Rank(0), .tag = 1, .name = "x"});
        flow.insert([](std::span<int> all) { std::ranges::fill(all, 1); }, write(x));
        if (world.rank() < 2) flow.insert([](std::span<const int>) {}, read(x), on_rank(Rank(1)));
        if (world.rank() < 2) flow.insert([](std::span<const int>) {}, read(x), on_rank(Rank(2)));
      });
}

TEST(Flow, PrunedTooMuch_AWriteThatTheOwnerLeavesOut_IsAnError) {
  expect_pruned_too_much(2,
                         "rank 1 has sent value 1 of 'x' to rank 0, where no insertion receives it",
                         [](World& world) {
                           Flow flow(world, "pruned", {.pruned = true});
                           const auto x = flow.data(1, {.owner = Rank(0), .tag = 1, .name = "x"});
                           if (world.rank() == 1)
                             flow.insert([](int& v) { v = 2; }, write(x), on_rank(Rank(1)));
                           flow.wait();
                         });
}

TEST(Flow, PrunedTooMuch_ADatumThatIsUnknownHere_IsNamedByItsTag) {
  expect_pruned_too_much(
      2, "rank 0 has sent value 1 of 'data of tag 101' to rank 1, where no insertion receives it",
      [](World& world) {
        Flow flow(world, "pruned", {.pruned = true});
        if (world.rank() == 0) {
          const auto x = flow.data(1, {.owner = Rank(0), .tag = 101});
          const auto y = flow.data(0, {.owner = Rank(1), .tag = 102});
          flow.insert(copy_int, read(x), write(y));
        }
        flow.wait();
      });
}

// get() is a read on all ranks.
TEST(Flow, PrunedTooMuch_AMigrationBeforeAGet_IsAnError) {
  expect_pruned_too_much(3,
                         "rank 1 has sent value 1 of 'x' to rank 2, where no insertion receives it",
                         [](World& world) {
                           Flow flow(world, "pruned", {.pruned = true});
                           const auto x = flow.data(1, {.owner = Rank(0), .tag = 1, .name = "x"});
                           static_cast<void>(flow.get(x));
                           if (world.rank() < 2) {
                             flow.migrate(x, Rank(1));
                             flow.insert([](int& value) { value = 2; }, write(x));
                           }
                           static_cast<void>(flow.get(x));
                         });
}

TEST(Flow, Pruned_AGetAfterAMigration_HasTheValueOnAllRanks) {
  run_seeds(24, 3, 1, [](World& world) {
    Flow flow(world, "pruned", {.pruned = true});
    const auto x = flow.data(1, {.owner = Rank(0), .tag = 1, .name = "x"});
    EXPECT_EQ(flow.get(x), 1);
    flow.migrate(x, Rank(1));
    flow.insert([](int& value) { value = 2; }, write(x));
    EXPECT_EQ(flow.get(x), 2);
  });
}

TEST(Flow, SubFlows_AreInsertedByTasksOfTheirOwn) {
  run_seeds(24, 2, 2, [](World& world) {
    Flow flow(world);
    std::vector<Data<int>> data;
    std::vector<std::unique_ptr<Flow>> parts;
    for (int i = 0; i < 3; ++i) {
      data.push_back(flow.data(0, {.owner = Rank(i % 2)}));
      parts.emplace_back(new Flow(flow.sub_flow("part " + std::to_string(i))));
    }
    for (std::size_t i = 0; i < 3; ++i) {
      world.spawn([&, i] {
        for (int k = 0; k < 20; ++k) {
          parts[i]->insert([](int& value) { ++value; }, read_write(data[i]),
                           on_rank(Rank(k % world.size())));
        }
        parts[i]->wait();
      });
    }
    world.wait();
    for (const auto& one : data) EXPECT_EQ(flow.get(one), 20);
  });
}

TEST(Flow, Task_FiresEventsFulfilsGraphsAndWaits) {
  run_seeds(24, 2, 2, [](World& world) {
    std::atomic<int> ran{0};
    shoal::Events events(world);
    shoal::TaskGraph<int> graph(world, "after");
    graph.set_indegree([](int) { return 1; }).set_mapping([](int) { return 0; }).set_task([&](int) {
      ++ran;
    });
    events.submit({{shoal::any, "done"}}, [&] { ++ran; });
    Flow flow(world);
    const auto a = flow.data(0, {.owner = Rank(world.size() - 1)});
    flow.insert(
        [&](int& value) {
          auto later = world.async([] { return 5; });
          value = later.get();
          events.fire(shoal::all, "done");
          graph.fulfill(3);
        },
        write(a));
    EXPECT_EQ(flow.get(a), 5);
    world.wait();
    EXPECT_EQ(ran, world.rank() == world.size() - 1 ? 2 : 1);
  });
}

class Adder : public shoal::DistributedObject<Adder> {
 public:
  explicit Adder(shoal::Team& team) : DistributedObject(team) {}
  int add(int by) { return sum_ += by; }

 private:
  int sum_ = 0;
};

TEST(Flow, Task_InvokesADistributedObjectAndUsesItsResult) {
  run_seeds(24, 3, 2, [](World& world) {
    constexpr int kTasks = 4;
    Adder adder(world);
    Flow flow(world);
    const auto a = flow.data(0, {.owner = Rank(0)});
    const auto b = flow.data(0, {.owner = Rank(2)});
    for (int i = 1; i <= kTasks; ++i) {
      flow.insert([&](int& value) { value = adder.call<&Adder::add>(Rank(1), 1).get(); },
                  read_write(a));
      // After the task before, which has the result of its invocation.
      flow.insert([&](const int& before, int& value) { value += before; }, read(a), read_write(b));
    }
    EXPECT_EQ(flow.get(a), kTasks);
    EXPECT_EQ(flow.get(b), kTasks * (kTasks + 1) / 2);
    adder.fence();
    EXPECT_EQ(adder.add(0), world.rank() == 1 ? kTasks : 0);
  });
}

TEST(Flow, Codelet_ChoosesAmongImplementations) {
  run_seeds(24, 1, 1, [](World& world) {
    Flow flow(world);
    const auto a = flow.data(0);
    Codelet add("add", [](int& value, int by) { value += by; });
    add.add_implementation([](int& value, int by) { value += 100 * by; });
    add.set_choice([](const int& /*value*/, int by) { return by > 2 ? std::size_t{1} : 0; });
    for (int by = 1; by <= 3; ++by) flow.insert(add, read_write(a), by);
    EXPECT_EQ(flow.get(a), 303);
  });
}

TEST(Flow, Priorities_DecideAmongReadyTasks) {
  run_seeds(24, 1, 1, [](World& world) {
    Flow flow(world);
    std::vector<int> order;
    const auto gate = flow.data(0);
    auto held = flow.acquire(write(gate));
    for (int i = 0; i < 5; ++i) {
      flow.insert([&](const int&, int number) { order.push_back(number); }, read(gate), i,
                  with_priority(i + 1));
    }
    held.release();
    flow.wait();
    EXPECT_EQ(order, (std::vector<int>{4, 3, 2, 1, 0}));
  });
}

// Ranks 0 and 1 insert different tasks before those that run on either of them.
TEST(Flow, Pruned_TiesAreBrokenAlikeOnAllRanks) {
  run_seeds(24, 3, 1, [](World& world) {
    constexpr int kData = 6;
    Flow flow(world, "pruned", {.pruned = true});
    const auto add = [](int& a, int& b) {
      ++a;
      ++b;
    };
    std::vector<Data<int>> data;
    for (int i = 0; i < kData; ++i) {
      data.push_back(
          flow.data(0, {.owner = Rank(i % 2), .tag = static_cast<std::uint64_t>(i) + 1}));
    }
    for (int i = 0; i < 5 && world.rank() == 0; ++i) {
      flow.insert([](int& value) { ++value; }, read_write(data[0]));
    }
    for (int i = 0; i + 1 < kData && world.rank() < 2; ++i) {
      const auto at = static_cast<std::size_t>(i);
      flow.insert(add, read_write(data[at]), read_write(data[at + 1]), on_cheapest());
      flow.insert(add, read_write(data[at]), read_write(data[at + 1]));
    }
    for (int i = 0; i < kData; ++i) {
      if (i % 2 != world.rank()) continue;
      EXPECT_EQ(*flow.acquire(read(data[static_cast<std::size_t>(i)])),
                (i == 0 ? 5 : 2) + (i < kData - 1 ? 2 : 0));
    }
  });
}

TEST(Flow, OnCheapest_WithoutDataTakesAllRanks) {
  for (const bool pruned : {false, true}) {
    run_seeds(24, 3, 1, [pruned](World& world) {
      Flow flow(world, "spread", {.pruned = pruned});
      std::atomic<int> ran{0};
      const auto room = flow.vector<int>(nullptr, 4, {.tag = 1});
      for (int i = 0; i < 6; ++i) flow.insert([&ran] { ++ran; }, on_cheapest());
      for (int i = 0; i < 6; ++i) {
        flow.insert([&ran](std::span<int>) { ++ran; }, scratch(room), on_cheapest());
      }
      flow.wait();
      EXPECT_EQ(ran, 4);
    });
  }
}

TEST(Flow, Get_OfAVectorOrMatrixReturnsItsElements) {
  run_seeds(24, 2, 1, [](World& world) {
    std::vector<int> memory{1, 2, -1, 3, 4, -1};
    Flow flow(world);
    const auto a = flow.vector<bool>(nullptr, 3, {.owner = Rank(1)});
    const auto b = flow.matrix<int>(memory.data(), 2, 2, 3, {.owner = Rank(0)});
    flow.insert([](std::span<bool> all) { std::ranges::fill(all, true); }, write(a));
    EXPECT_EQ(flow.get(a), std::vector<bool>(3, true));
    EXPECT_EQ(flow.get(b), (std::vector<int>{1, 2, 3, 4}));
    EXPECT_EQ(flow.get(flow.vector<int>(nullptr, 0)), std::vector<int>());
  });
}

TEST(Flow, AcquireAsync_OnARankThatIsNotTheOwner) {
  run_seeds(24, 2, 1, [](World& world) {
    Flow flow(world);
    const auto a = flow.data(3, {.owner = Rank(0)});
    const auto mine = flow.acquire_async(read(a), on_rank(Rank(1))).get();
    EXPECT_EQ(mine.here(), world.rank() == 1);
    if (mine.here()) {
      EXPECT_EQ(*mine, 3);
    }
  });
}

void double_it(int& value) noexcept { value *= 2; }

TEST(Flow, Codelet_OfAFunctionThatDoesNotThrow) {
  run_seeds(24, 1, 1, [](World& world) {
    Flow flow(world);
    const auto a = flow.data(1);
    const Codelet add("add", [](int& value) noexcept { ++value; });
    const Codelet add_more("add", [](int& value) mutable noexcept { value += 2; });
    const Codelet twice("twice", double_it);
    flow.insert(add, read_write(a));
    flow.insert(add_more, read_write(a));
    flow.insert(twice, read_write(a));
    EXPECT_EQ(flow.get(a), 8);
  });
}

TEST(FlowErrors, WrongInsertions_AreRefusedByName) {
  const auto body = [](const auto&) {};
  EXPECT_THAT(error_of([&](World& world) {
                Flow flow(world, "f");
                const auto a = flow.data(1, {.name = "A"});
                flow.unregister(a);
                flow.insert(body, read(a));
              }),
              HasSubstr("argument 1 is a datum that was unregistered before"));
  EXPECT_THAT(error_of([&](World& world) {
                Flow flow(world, "f");
                flow.insert(body, read(Data<int>()));
              }),
              HasSubstr("never registered"));
  EXPECT_THAT(error_of([&](World& world) {
                Flow flow(world, "f");
                const auto a = flow.data(1, {.name = "A"});
                flow.insert([](const int&, int&) {}, read(a), write(a));
              }),
              HasSubstr("'A' is given twice, as read and as write"));
  EXPECT_THAT(error_of([&](World& world) {
                Flow flow(world, "f");
                const auto a = flow.data(1, {.name = "A"});
                flow.insert([](int&) {}, reduction(a));
              }),
              HasSubstr("'A' has no reduction"));
  EXPECT_THAT(error_of([&](World& world) {
                Flow flow(world, "f");
                const auto a = flow.vector<int>(nullptr, 8, {.name = "A"});
                const auto parts = flow.partition(a, 2);
                flow.insert([](std::span<const int>) {}, read(a));
              }),
              HasSubstr("'A' is partitioned"));
  EXPECT_THAT(error_of([&](World& world) {
                Flow flow(world, "f");
                static_cast<void>(flow.data(1, {.tag = 3, .name = "A"}));
                static_cast<void>(flow.data(1, {.tag = 3, .name = "B"}));
              }),
              HasSubstr("'B' is registered with tag 3, which 'A' has already"));
  EXPECT_THAT(
      error_of([&](World& world) {
        Flow flow(world, "f");
        flow.insert([] {}, on_rank(Rank(4)));
      }),
      HasSubstr("flow 'f': on_rank() of task 1, on rank 0: rank 4 is out of range: the world "
                "has ranks 0 to 0"));
  for (const int rank : {-1, -2}) {
    EXPECT_THAT(error_of([&](World& world) {
                  Flow flow(world, "f");
                  flow.insert([] {}, on_rank(Rank(rank)));
                }),
                HasSubstr("rank " + std::to_string(rank) + " is out of range: the world has"));
  }
  EXPECT_THAT(error_of([&](World& world) {
                Flow flow(world, "f");
                static_cast<void>(flow.data(1, {.owner = Rank(2)}));
              }),
              HasSubstr("owner of a datum, on rank 0: rank 2 is out of range"));
}

TEST(FlowErrors, DatumOfAnotherFlow_IsRefused) {
  const auto error = [](const std::function<void(Flow&, const Data<int>&)>& use) {
    return error_of([&](World& world) {
      Flow flow(world, "f");
      Flow other(world, "g");
      use(other, flow.data(1, {.name = "A"}));
    });
  };
  EXPECT_THAT(error([](Flow& other, const auto& a) { other.insert([](int&) {}, read_write(a)); }),
              HasSubstr("flow 'g': insert(task), task 1: 'A' is a datum of another flow"));
  EXPECT_THAT(error([](Flow& other, const auto& a) { static_cast<void>(other.get(a)); }),
              HasSubstr("flow 'g': get() of 'A', which is a datum of another flow"));
}

TEST(FlowErrors, TaskThatWritesWhatItReads_IsNamed) {
  const std::string error = error_of([](World& world) {
    Flow flow(world, "f", {.check_reads = true});
    const auto a = flow.vector<int>(nullptr, 8, {.name = "A"});
    const auto b = flow.data(std::vector<int>(4), {.name = "B"});
    const Codelet fill("fill", [](std::span<int> values) { std::ranges::fill(values, 1); });
    flow.insert(fill, write(a));
    const Codelet good("good", [](std::span<const int>, const std::vector<int>&) {});
    flow.insert(good, read(a), read(b));
    const Codelet bad("bad", [](const std::vector<int>&, std::span<const int> values) {
      const_cast<int&>(values[3]) = 2;
    });
    flow.insert(bad, read(b), read(a));
    flow.wait();
    world.wait();
  });
  EXPECT_THAT(error, HasSubstr("bad(B, A) has changed 'A', which it only reads"));
}

TEST(FlowErrors, AcquireThatCanNeverCome_IsReportedWithWhatWaits) {
  const std::string error = error_of([](World& world) {
    Flow flow(world, "f");
    const auto a = flow.data(1, {.name = "A"});
    const auto b = flow.data(1, {.name = "B"});
    const auto held = flow.acquire(read_write(a));
    flow.insert([](const int&, int&) {}, read(a), write(b));
    const auto never = flow.acquire(read(b));
  });
  EXPECT_THAT(error, HasSubstr("wait for 'A', held in mode read_write by acquire()"));
}

TEST(FlowErrors, DifferentPrograms_NameTheFirstInsertionThatDiffers) {
  const auto program = [](World& world, bool longer) {
    Flow flow(world, "f");
    const auto a = flow.data(1, {.owner = Rank(0), .name = "A"});
    const Codelet add("add", [](int& value) { ++value; });
    const Codelet drop("drop", [](int& value) { --value; });
    for (int i = 0; i < 10; ++i) {
      const bool other = i == 4 && world.rank() == 1 && !longer;
      flow.insert(other ? drop : add, read_write(a));
    }
    if (longer && world.rank() == 1) flow.insert(drop, read_write(a));
    flow.wait();
  };
  const std::string differs = errors_of(2, [&](World& world) { program(world, false); });
  EXPECT_THAT(differs, HasSubstr("insertion 6 is add of 'A' at rank 0 on rank 0, and "));
  EXPECT_THAT(differs, HasSubstr("on rank 1"));
  const std::string longer = errors_of(2, [&](World& world) { program(world, true); });
  EXPECT_THAT(longer, HasSubstr("insertion 12 is nothing on rank 0, and "));
}

TEST(FlowErrors, TaskThatThrows_FailsTheWorldAndLeavesNothing) {
  const std::string errors = errors_of(2, [](World& world) {
    Flow flow(world, "f");
    const auto a = flow.data(1, {.owner = Rank(1)});
    const Codelet bad("bad", [](int&) { throw std::runtime_error("no luck"); });
    flow.insert(bad, write(a));
    for (int i = 0; i < 10; ++i) {
      flow.insert([](int& value) { ++value; }, read_write(a), on_rank(Rank(0)));
    }
    flow.wait();
    world.wait();
  });
  EXPECT_THAT(errors, HasSubstr("bad("));
  EXPECT_THAT(errors, HasSubstr("no luck"));
}

}  // namespace flow_test
