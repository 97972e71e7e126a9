// Ranks that insert different programs are told so, by name, also where they would hang.

#include "support/turn_world.hpp"

#include <shoal/shoal.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <span>
#include <string>

namespace flow_comparison_test {

using shoal::Codelet;
using shoal::Data;
using shoal::Flow;
using shoal::on_rank;
using shoal::Rank;
using shoal::read;
using shoal::read_write;
using shoal::World;
using shoal::testing::run_turns;
using testing::HasSubstr;
using testing::Not;

/// Errors of two ranks, one after the other, in all orders of the simulator.
std::string errors_of(const std::function<void(World&)>& program) {
  std::string text;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const auto result = run_turns({.seed = seed, .ranks = 2, .workers = 1}, [&](World& world) {
      program(world);
      return 0;
    });
    text.clear();
    for (const std::exception_ptr& error : result.errors) {
      if (error != nullptr) text += shoal::describe(error) + "\n";
    }
    if (text.find("insert different programs") == std::string::npos) return text;
  }
  return text;
}

/// A flow with two data; `differ` is true on rank 1.
struct TwoData {
  explicit TwoData(World& world, const shoal::FlowOptions& options = {})
      : flow(world, "f", options), differ(world.rank() == 1) {}

  Flow flow;
  const bool differ;
  const Data<long> a = flow.data(0L, {.owner = Rank(0), .name = "A"});
  const Data<long> b = flow.data(1L, {.owner = Rank(1), .name = "B"});
  const Codelet<shoal::TypeList<long&>> add{"add", [](long& value) { ++value; }};
  const Codelet<shoal::TypeList<long&, const long&>> sum{
      "sum", [](long& value, const long& more) { value += more; }};
};

TEST(FlowComparison, RankOfATask) {
  const std::string errors = errors_of([](World& world) {
    TwoData two(world);
    for (int i = 0; i < 5; ++i) {
      two.flow.insert(two.add, read_write(two.a), on_rank(Rank(i == 3 && two.differ ? 1 : 0)));
    }
    two.flow.wait();
  });
  EXPECT_THAT(errors, HasSubstr("insertion 6 is add of 'A' at rank 0 on rank 0, "
                                "and add of 'A' at rank 1 on rank 1"));
}

TEST(FlowComparison, InsertionOfASubFlow) {
  const std::string errors = errors_of([](World& world) {
    TwoData two(world);
    Flow part = two.flow.sub_flow("part");
    for (int i = 0; i < 5; ++i) {
      part.insert(two.add, read_write(i == 3 && two.differ ? two.b : two.a));
    }
    part.wait();
  });
  EXPECT_THAT(errors, HasSubstr("flow 'part': the ranks insert different programs: insertion 4 is "
                                "add of 'A' at rank 0 on rank 0, and add of 'B' at rank 1"));
}

TEST(FlowComparison, CodeletAndDatumOfOneRankOnly_AreNamed) {
  for (const int odd : {0, 1}) {
    const std::string errors = errors_of([odd](World& world) {
      TwoData two(world);
      if (world.rank() == odd) {
        const Codelet halve("halve", [](long& value) { value /= 2; });
        two.flow.insert(halve, read_write(two.a));
      } else {
        two.flow.insert(two.add, read_write(two.a));
      }
      two.flow.wait();
    });
    EXPECT_THAT(errors, HasSubstr(odd == 0 ? "insertion 3 is halve of 'A' at rank 0 on rank 0, "
                                             "and add of 'A' at rank 0 on rank 1"
                                           : "insertion 3 is add of 'A' at rank 0 on rank 0, "
                                             "and halve of 'A' at rank 0 on rank 1"));
    const std::string more = errors_of([odd](World& world) {
      TwoData two(world);
      if (world.rank() == odd) {
        static_cast<void>(two.flow.data(0L, {.owner = Rank(1), .name = "C"}));
      }
    });
    EXPECT_THAT(more, HasSubstr(odd == 0 ? "insertion 3 is register of 'C' at rank 1 on rank 0, "
                                           "and nothing on rank 1"
                                         : "insertion 3 is nothing on rank 0, and register of 'C' "
                                           "at rank 1 on rank 1"));
  }
}

TEST(FlowComparison, LengthOfASubFlow) {
  const std::string errors = errors_of([](World& world) {
    TwoData two(world);
    Flow part = two.flow.sub_flow("part");
    for (int i = 0; i < (two.differ ? 5 : 4); ++i) part.insert(two.add, read_write(two.a));
  });
  EXPECT_THAT(errors, HasSubstr("insertion 5 is nothing on rank 0, and add of 'A'"));
}

TEST(FlowComparison, NumberOfSubFlows) {
  const std::string errors = errors_of([](World& world) {
    TwoData two(world);
    if (two.differ) static_cast<void>(two.flow.sub_flow("part"));
  });
  EXPECT_THAT(errors, HasSubstr("insertion 3 is nothing on rank 0, and sub_flow"));
}

TEST(FlowComparison, OwnerOfADatum) {
  const std::string errors = errors_of([](World& world) {
    TwoData two(world);
    const auto c = two.flow.data(0L, {.owner = world.rank(), .name = "C"});
    two.flow.insert(two.add, read_write(c));
    two.flow.wait();
  });
  EXPECT_THAT(errors, HasSubstr("insertion 3 is register of 'C' at rank 0 on rank 0, "
                                "and register of 'C' at rank 1 on rank 1"));
}

TEST(FlowComparison, ShapeOfADatum) {
  const std::string errors = errors_of([](World& world) {
    TwoData two(world);
    static_cast<void>(two.flow.vector<double>(nullptr, two.differ ? 11 : 10, {.name = "C"}));
    two.flow.wait();
  });
  EXPECT_THAT(errors,
              HasSubstr("insertion 3 is register of 'C' at rank 0 (std::span<double> of 10 "
                        "elements) on rank 0, and register of 'C' at rank 0 (std::span<double> of "
                        "11 elements) on rank 1; all ranks must insert the same tasks in the same "
                        "order, with the same data, types and sizes"));
}

// As many bytes on both ranks.
TEST(FlowComparison, TypeAndRowsOfADatum) {
  const std::string type = errors_of([](World& world) {
    TwoData two(world);
    if (two.differ) {
      static_cast<void>(two.flow.data(0.0, {.name = "C"}));
    } else {
      static_cast<void>(two.flow.data(0L, {.name = "C"}));
    }
    two.flow.wait();
  });
  EXPECT_THAT(type, HasSubstr("register of 'C' at rank 0 (long) on rank 0, and register of 'C' at "
                              "rank 0 (double) on rank 1"));
  const std::string rows = errors_of([](World& world) {
    TwoData two(world);
    static_cast<void>(two.flow.matrix<double>(nullptr, two.differ ? 2 : 8, two.differ ? 8 : 2,
                                              two.differ ? 2 : 8, {.name = "C"}));
    two.flow.wait();
  });
  EXPECT_THAT(rows, HasSubstr("of 8 x 2 elements) on rank 0, and"));
  EXPECT_THAT(rows, HasSubstr("of 2 x 8 elements) on rank 1"));
}

// The value travels before the programs are compared.
TEST(FlowComparison, AValueThatDoesNotFit_IsNamedWithBothSizes) {
  const std::string errors = errors_of([](World& world) {
    Flow flow(world, "f", {.pruned = true});
    const std::size_t size = world.rank() == 0 ? 10 : 11;
    const auto c = flow.vector<double>(nullptr, size, {.owner = Rank(0), .tag = 1, .name = "C"});
    const auto d = flow.data(0L, {.owner = Rank(1), .tag = 2, .name = "D"});
    flow.insert(Codelet("copy", [](std::span<const double> from,
                                   long& to) { to = static_cast<long>(from.size()); }),
                read(c), shoal::write(d));
    flow.wait();
    world.wait();
  });
  EXPECT_THAT(errors, HasSubstr("flow 'f': the value of 'C' that rank 0 has sent does not fit: it "
                                "is std::span<double> of 11 elements here, and 80 bytes came for a "
                                "vector of 88"));
  EXPECT_THAT(errors, HasSubstr("; all ranks register a datum with the same type and size"));
}

TEST(FlowComparison, TargetOfAMigration) {
  const std::string errors = errors_of([](World& world) {
    TwoData two(world);
    two.flow.migrate(two.a, world.rank());
  });
  EXPECT_THAT(errors, HasSubstr("insertion 3 is migrate of 'A' at rank 0 on rank 0, "
                                "and migrate of 'A' at rank 1"));
}

TEST(FlowComparison, NumberOfParts) {
  const std::string errors = errors_of([](World& world) {
    TwoData two(world);
    const auto c = two.flow.vector<double>(nullptr, 10, {.name = "C"});
    static_cast<void>(two.flow.partition(c, two.differ ? 3 : 2));
    two.flow.unpartition(c);
  });
  EXPECT_THAT(errors, HasSubstr("insertion 4 is partition of 'C' on rank 0"));
}

// Rank 0 waits for a value that rank 1 does not send.
TEST(FlowComparison, ProgramThatHangs_IsNamedWhereverItWaits) {
  const auto hang = [](const std::function<void(TwoData&)>& wait, std::size_t tasks_max = 4096) {
    return errors_of([&](World& world) {
      TwoData two(world, {.tasks_max = tasks_max});
      for (int i = 0; i < 60; ++i) {
        if (i == 10 && !two.differ) {
          two.flow.insert(two.sum, read_write(two.a), read(two.b));
        } else {
          two.flow.insert(two.add, read_write(two.a));
        }
      }
      wait(two);
    });
  };
  const auto named = HasSubstr("insertion 13 is sum of 'B' at rank 0 on rank 0, and add of 'A'");
  EXPECT_THAT(hang([](TwoData& two) { static_cast<void>(two.flow.get(two.a)); }), named);
  EXPECT_THAT(hang([](TwoData& two) { static_cast<void>(two.flow.acquire(read(two.a))); }), named);
  EXPECT_THAT(hang([](TwoData& two) {
                auto later = two.flow.acquire_async(read(two.a));
                static_cast<void>(later.get());
              }),
              named);
  EXPECT_THAT(hang([](TwoData& two) { two.flow.wait(two.a); }), named);
  EXPECT_THAT(hang([](TwoData& two) { two.flow.unregister(two.a); }), named);
  // Rank 0 comes no further than insertion 42.
  EXPECT_THAT(hang([](TwoData& two) { two.flow.wait(); }, 30), named);
}

TEST(FlowComparison, InsertionBeyondTasksMax_WhileTheCallerHoldsADatum_NamesIt) {
  const std::string errors = errors_of([](World& world) {
    TwoData two(world, {.tasks_max = 8});
    auto held = two.flow.acquire(read_write(two.a));
    for (int i = 0; i < 20; ++i) two.flow.insert(two.add, read_write(two.a));
    held.release();
  });
  EXPECT_THAT(errors, HasSubstr("waits in insert() beyond tasks_max of flow 'f'"));
  EXPECT_THAT(errors, HasSubstr("accesses wait for 'A', held in mode read_write by acquire() on "
                                "this rank; the first to wait is add(A)"));
}

TEST(FlowComparison, HangInAcquire_QuotesTheDatumOnce) {
  const std::string errors = errors_of([](World& world) {
    TwoData two(world);
    const auto held = two.flow.acquire(read_write(two.a));
    const auto never = two.flow.acquire(read(two.a));
  });
  EXPECT_THAT(errors, HasSubstr("waits in get() of 'A'"));
  EXPECT_THAT(errors, Not(HasSubstr("''")));
}

}  // namespace flow_comparison_test
