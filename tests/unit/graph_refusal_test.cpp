// Refusals of a task graph, and names of its tasks in errors.

#include <shoal/graph.hpp>

#include "support/refusal.hpp"
#include "support/turn_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <tuple>

namespace graph_refusal_test {

using shoal::TaskGraph;
using shoal::World;
using shoal::testing::error_of;
using shoal::testing::refusal_of;
using testing::AllOf;
using testing::HasSubstr;

void expect_runs(const std::function<void(World&)>& program) { EXPECT_EQ(error_of(program), ""); }

constexpr auto kFirstWorker = [](const auto& /*key*/) { return 0; };
constexpr auto kIndependent = [](const auto& /*key*/) { return 1; };

/// A graph "g" with all functions, one of which a test replaces.
class Refusals {
 public:
  explicit Refusals(World& world) : graph(world, "g") {
    graph.set_indegree([](int k) { return k; }).set_task([](int /*k*/) {}).set_mapping([](int k) {
      return k == 50 ? 7 : k == 51 ? -1 : 0;
    });
  }
  std::string operator()(int k, int count = 1) {
    return refusal_of([&] { graph.fulfill(k, count); });
  }

  TaskGraph<int> graph;
};

TEST(TaskGraphRefusal, MissingFunctions_AreRefusedByNameWithTheKey) {
  expect_runs([](World& world) {
    TaskGraph<int> graph(world, "potrf");
    const auto refusal = [&graph] { return refusal_of([&graph] { graph.fulfill(42); }); };
    const auto names = [](const char* function) {
      return AllOf(HasSubstr("'potrf'"), HasSubstr("42"), HasSubstr(function));
    };
    EXPECT_THAT(refusal(), names("set_indegree()"));
    graph.set_indegree(kIndependent);
    EXPECT_THAT(refusal(), names("set_task()"));
    bool ran = false;
    graph.set_task([&ran](int /*k*/) { ran = true; });
    graph.fulfill(42);  // the refused calls have changed nothing
    world.wait();
    EXPECT_TRUE(ran);
  });
}

TEST(TaskGraphRefusal, ANumberBeyondInt_IsRefusedNotCutOff) {
  expect_runs([](World& world) {
    static constexpr std::int64_t kLarge = (std::int64_t{1} << 32U) + 1;  // the lower bits are a 1
    const auto refusal = [&world](const char* set, const char* number, auto change) {
      Refusals refused(world);
      change(refused.graph);
      EXPECT_THAT(refused(1), AllOf(HasSubstr("graph 'g'"), HasSubstr(set), HasSubstr(number),
                                    HasSubstr("key 1")));
    };
    refusal("set_indegree()", "4294967297",
            [](auto& graph) { graph.set_indegree([](int) { return kLarge; }); });
    refusal("set_mapping()", "-4294967296",
            [](auto& graph) { graph.set_mapping([](int) { return -kLarge + 1; }); });
    refusal("set_priority()", "4294967295",
            [](auto& graph) { graph.set_priority([](int) { return 4294967295U; }); });
    refusal("set_priority()", "18446744073709551615",
            [](auto& graph) { graph.set_priority([](int) { return ~std::uint64_t{0}; }); });
    refusal("set_rank()", "4294967297", [](auto& graph) {
      graph.set_rank([](int) { return static_cast<std::uint64_t>(kLarge); });
    });
    // Numbers of larger types that fit.
    bool ran = false;
    Refusals fitting(world);
    fitting.graph.set_indegree([](int) { return std::size_t{1}; })
        .set_mapping([](int) { return 0L; })
        .set_priority([](int) { return std::int64_t{-3}; })
        .set_rank([](int) { return std::uint32_t{0}; })
        .set_task([&ran](int) { ran = true; });
    EXPECT_EQ(fitting(1), "nothing was refused");
    world.wait();
    EXPECT_TRUE(ran);
  });
}

TEST(TaskGraphRefusal, AnIndegreeOrCountBelowOne_IsRefusedWithTheKey) {
  expect_runs([](World& world) {
    Refusals refusal(world);
    EXPECT_THAT(refusal(0), AllOf(HasSubstr("g[0]"), HasSubstr("indegree 0")));
    EXPECT_THAT(refusal(-3), AllOf(HasSubstr("g[-3]"), HasSubstr("indegree -3")));
    EXPECT_THAT(refusal(2, 0), AllOf(HasSubstr("g[2]"), HasSubstr("0 times")));
    EXPECT_THAT(refusal(2, -1), AllOf(HasSubstr("g[2]"), HasSubstr("-1 times")));
  });
}

TEST(TaskGraphRefusal, AWorkerOutOfRange_IsRefusedWithTheKey) {
  expect_runs([](World& world) {
    Refusals refusal(world);
    EXPECT_THAT(refusal(50, 50),
                AllOf(HasSubstr("g[50]"), HasSubstr("worker 7"), HasSubstr("0 to 0")));
    EXPECT_THAT(refusal(51, 51), AllOf(HasSubstr("g[51]"), HasSubstr("worker -1")));
  });
}

TEST(TaskGraphRefusal, MoreThanTheIndegree_IsRefusedWithTheKeyAndChangesNothing) {
  expect_runs([](World& world) {
    Refusals refusal(world);
    EXPECT_THAT(refusal(3, 4), AllOf(HasSubstr("g[3]"), HasSubstr("0 of 3"), HasSubstr("4 more")));
    EXPECT_THAT(refusal(1, 2), AllOf(HasSubstr("g[1]"), HasSubstr("0 of 1")));
    refusal.graph.fulfill(3, 2);
    EXPECT_THAT(refusal(3, 2), AllOf(HasSubstr("g[3]"), HasSubstr("2 of 3")));
    refusal.graph.fulfill(3);
    world.wait();
  });
}

TEST(TaskGraphRefusal, DenseGraphs_RefuseRepetitionsAndIndicesOutOfRange) {
  expect_runs([](World& world) {
    Refusals refusal(world);
    refusal.graph.set_dense(10, [](int k) { return static_cast<std::size_t>(k); });
    EXPECT_THAT(refusal(10),
                AllOf(HasSubstr("g[10]"), HasSubstr("index 10"), HasSubstr("10 keys")));
    EXPECT_THAT(refusal(3, 4), AllOf(HasSubstr("g[3]"), HasSubstr("0 of 3")));
    refusal.graph.fulfill(3, 2);
    EXPECT_THAT(refusal(3, 2), AllOf(HasSubstr("g[3]"), HasSubstr("2 of 3")));
    refusal.graph.fulfill(3);
    world.wait();
    EXPECT_THAT(refusal(3), AllOf(HasSubstr("g[3]"), HasSubstr("run already")));
  });
}

TEST(TaskGraphRefusal, ChangesAfterTheFirstFulfill_AreRefused) {
  expect_runs([](World& world) {
    Refusals refusal(world);
    refusal.graph.fulfill(1);
    TaskGraph<int>& graph = refusal.graph;
    const auto refused = AllOf(HasSubstr("'g'"), HasSubstr("in use"));
    EXPECT_THAT(refusal_of([&] { graph.set_indegree(kIndependent); }), refused);
    EXPECT_THAT(refusal_of([&] { graph.set_task([](int) {}); }), refused);
    EXPECT_THAT(refusal_of([&] { graph.set_mapping(kFirstWorker); }), refused);
    EXPECT_THAT(refusal_of([&] { graph.set_priority(kFirstWorker); }), refused);
    EXPECT_THAT(refusal_of([&] { graph.set_binding([](int) { return true; }); }), refused);
    EXPECT_THAT(refusal_of([&] { graph.set_name([](int) { return std::string(); }); }), refused);
    EXPECT_THAT(refusal_of([&] { graph.set_dense(1, [](int) { return 0U; }); }), refused);
    world.wait();
  });
}

TEST(TaskGraphRefusal, Refusals_UseTheNameOfTheTask) {
  expect_runs([](World& world) {
    Refusals refusal(world);
    refusal.graph.set_name([](int k) { return "panel " + std::to_string(k); });
    EXPECT_THAT(refusal(0), HasSubstr("panel 0 has indegree 0"));
    EXPECT_THAT(refusal(3, 4), HasSubstr("panel 3"));
    EXPECT_THAT(refusal(50, 50), HasSubstr("panel 50"));
  });
}

TEST(TaskGraphRefusal, ARefusalInATask_FailsTheWorldWithBothNames) {
  const std::string error = error_of([](World& world) {
    TaskGraph<int> graph(world, "outer");
    graph.set_indegree([](int k) { return k == 1 ? 1 : 0; })
        .set_task([&graph](int /*k*/) { graph.fulfill(9); })
        .set_mapping(kFirstWorker);
    graph.fulfill(1);
    world.wait();
  });
  EXPECT_THAT(error, AllOf(HasSubstr("outer[1]"), HasSubstr("outer[9] has indegree 0")));
}

// --- names in errors

TEST(TaskGraphRefusal, ATaskThatThrows_IsNamedByGraphAndKey) {
  using Key = std::tuple<int, std::string>;
  const auto program = [](bool named) {
    return [named](World& world) {
      TaskGraph<Key> graph(world, "gemm");
      graph.set_indegree(kIndependent)
          .set_task([](const Key& /*key*/) { throw std::runtime_error("overflow"); })
          .set_mapping(kFirstWorker);
      if (named) graph.set_name([](const Key& key) { return "tile of " + std::get<1>(key); });
      graph.fulfill({4, "Anna"});
      world.wait();
    };
  };
  EXPECT_THAT(error_of(program(false)),
              AllOf(HasSubstr("gemm[(4, \"Anna\")]"), HasSubstr("overflow")));
  EXPECT_THAT(error_of(program(true)), AllOf(HasSubstr("tile of Anna"), HasSubstr("overflow")));
}

}  // namespace graph_refusal_test
