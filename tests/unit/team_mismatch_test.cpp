// Handlers that ranks make in different orders: see also tests/support/seeded_orders.hpp.

#include <shoal/shoal.hpp>

#include "support/heap_meter.hpp"
#include "support/turn_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

namespace team_mismatch_test {

using shoal::ActiveMessage;
using shoal::Rank;
using shoal::Team;
using shoal::World;
using shoal::testing::HeapMeter;
using shoal::testing::run_turns;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

constexpr std::uint64_t kSeeds = 48;

/// Errors of the first rank of a program on two ranks, which must fail, for many seeds.
template <class F>
void expect_error(F program, const testing::Matcher<std::string>& matcher) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto result = run_turns(
        {.seed = seed, .ranks = 2, .workers = 1 + static_cast<int>(seed % 2)}, [&](World& world) {
          program(world);
          return 0;
        });
    ASSERT_NE(result.errors[0], nullptr) << "seed " << seed;
    EXPECT_THAT(shoal::describe(result.errors[0]), matcher) << "seed " << seed;
  }
}

TEST(Mismatch, MessageThatComesBeforeItsHandler_IsRefusedWhenThatIsMade) {
  expect_error(
      [](World& world) {
        std::optional<ActiveMessage<int>> rows;
        std::optional<ActiveMessage<int>> columns;
        const auto make_rows = [&] { rows.emplace(world.make_am([](int) {}, {.name = "rows"})); };
        const auto make_columns = [&] {
          columns.emplace(world.make_am([](int) {}, {.name = "columns"}));
        };
        if (world.rank() == 0) {
          make_rows();
          rows->send(Rank(1), 1);
          world.barrier();
          make_columns();
        } else {
          world.barrier();
          make_columns();
          make_rows();
        }
        world.wait();
      },
      AllOf(
          HasSubstr("a message of rank 0 met another handler on rank 1"),
          ContainsRegex("number 0 of the team is rows, made at team_mismatch_test.cpp:[0-9:]+, on "
                        "rank 0, and columns, made at team_mismatch_test.cpp:[0-9:]+, on rank 1")));
}

TEST(Mismatch, InATeam_NamesRanksOfTheWorld) {
  expect_error(
      [](World& world) {
        Team team(world, {Rank(1), Rank(0)}, "both");
        const auto make = [&](const char* name) {
          return std::make_unique<ActiveMessage<int>>(team.make_am([](int) {}, {.name = name}));
        };
        const auto first = make(team.rank() == 0 ? "rows" : "columns");
        const auto second = make(team.rank() == 0 ? "columns" : "rows");
        if (team.rank() == 0) first->send(Rank(1), 1);
        team.wait();
      },
      AllOf(HasSubstr("a message of rank 1 met another handler on rank 0"),
            HasSubstr("is rows, made at"), HasSubstr("and columns, made at")));
}

TEST(Mismatch, HandlersOfOneTypeAndPlace_AreNumberedByCheckGraphs) {
  expect_error(
      [](World& world) {
        const auto make = [&] {
          return std::make_unique<ActiveMessage<int>>(world.make_am([](int) {}, {.name = "row"}));
        };
        const auto make_other = [&] {
          return std::make_unique<ActiveMessage<int>>(world.make_am([](int) {}, {.name = "other"}));
        };
        // Number 1 is the second row on rank 0, and the first one on rank 1.
        const auto before = world.rank() == 0 ? make() : make_other();
        const auto row = make();
        if (world.rank() == 0) row->send(Rank(1), 1);
        world.wait();
      },
      AllOf(HasSubstr("number 1 of the team is row (number 2 of that name), made at"),
            HasSubstr("and row, made at")));
}

TEST(Mismatch, FirstMistakeIsNamed_ThoughTheSenderDestroysItsHandler) {
  expect_error(
      [](World& world) {
        const auto make = [&](const char* name) {
          return std::make_unique<ActiveMessage<int>>(world.make_am([](int) {}, {.name = name}));
        };
        auto am = make(world.rank() == 0 ? "rows" : "columns");
        if (world.rank() == 0) am->send(Rank(1), 1);
        am.reset();
        world.wait();
      },
      HasSubstr("for columns, which was destroyed here"));
}

TEST(Mismatch, PlaceThatAFunctionPassesOn_TellsItsHandlersApart) {
  expect_error(
      [](World& world) {
        const auto make = [&](const std::source_location& place) {
          return std::make_unique<ActiveMessage<int>>(world.make_am([](int) {}, {}, place));
        };
        std::unique_ptr<ActiveMessage<int>> rows;
        std::unique_ptr<ActiveMessage<int>> columns;
        const auto make_rows = [&] { rows = make(std::source_location::current()); };
        const auto make_columns = [&] { columns = make(std::source_location::current()); };
        if (world.rank() == 0) make_rows();
        make_columns();
        if (world.rank() == 1) make_rows();
        if (world.rank() == 0) rows->send(Rank(1), 1);
        world.wait();
      },
      HasSubstr("met another handler on rank 1"));
}

TEST(Mismatch, HandlersInTheSameOrder_AreNotRefused) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    int sum = 0;
    const auto result = run_turns({.seed = seed, .ranks = 3, .workers = 2}, [&](World& world) {
      std::vector<ActiveMessage<int>> all;
      for (int i = 0; i < 20; ++i) all.push_back(world.make_am([&](int more) { sum += more; }));
      for (const ActiveMessage<int>& one : all) one.send(Rank((world.rank().value() + 1) % 3), 1);
      world.wait();
      return 0;
    });
    for (const std::exception_ptr& error : result.errors) {
      ASSERT_EQ(error, nullptr) << "seed " << seed << ": " << shoal::describe(error);
    }
    EXPECT_EQ(sum, 60) << "seed " << seed;
  }
}

// --- memory

TEST(Mismatch, DestroyedHandlers_TakeNoMemory) {
  shoal::runtime::Config config = shoal::testing::sim_config(1, 1, 1);
  config.check_graphs = false;
  shoal::runtime::SimulatedWorld simulated(config);
  simulated.run([](World& world) {
    const auto make_many = [&] {
      for (int i = 0; i < 4096; ++i) {
        const auto am = world.make_am([](int) {});
        if (i % 64 == 0) world.wait();
      }
      world.wait();
    };
    make_many();
    HeapMeter::reset();
    make_many();
    if (HeapMeter::counts) {
      EXPECT_LT(HeapMeter::growth_bytes(), 16384U);
    }
    return 0;
  });
}

}  // namespace team_mismatch_test
