// Tasks that are tried again: effects of attempts that fail never happen, in each model.

#include <shoal/event.hpp>
#include <shoal/flow.hpp>
#include <shoal/graph.hpp>
#include <shoal/loops.hpp>
#include <shoal/memory.hpp>
#include <shoal/object.hpp>
#include <shoal/pipeline.hpp>
#include <shoal/shoal.hpp>
#include <shoal/static_graph.hpp>

#include "support/failed_runs.hpp"
#include "support/virtual_time.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace runtime_retries_test {

using shoal::Events;
using shoal::Flow;
using shoal::Rank;
using shoal::TaskGraph;
using shoal::TaskGroup;
using shoal::Team;
using shoal::World;
using shoal::testing::expect_well;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Throws in the first calls, at the end of a body.
class Failing {
 public:
  explicit Failing(int failures) : left_(failures) {}
  void end() {
    ++runs;
    if (left_.fetch_sub(1) > 0) throw std::runtime_error("not yet");
  }
  std::atomic<int> runs{0};

 private:
  std::atomic<int> left_;
};

/// Text of the error of wait().
std::string text_of_wait(Team& team) {
  try {
    team.wait();
  } catch (const shoal::Error& error) {
    return error.what();
  }
  return "";
}

constexpr int kManyRetries = 100'000;

TEST(Retries, OtherTasksHaveATurn_BetweenAttempts) {
  shoal::testing::in_virtual_time([](World& world) {
    bool is_there = false;
    int runs = 0;
    auto reader = world.async(
        [&] {
          ++runs;
          if (!is_there) throw std::runtime_error("not there yet");
          return 1;
        },
        {.name = "reader", .retries = kManyRetries});
    world.spawn([&] { is_there = true; });
    EXPECT_EQ(reader.get(), 1);
    EXPECT_LT(runs, 100);
  });
}

TEST(Retries, ADeadlineOfTheGroup_EndsThem) {
  shoal::testing::in_virtual_time([](World&) {
    TaskGroup group("group");
    const shoal::Deadline deadline(group, std::chrono::microseconds(2));
    int runs = 0;
    group.spawn(
        [&] {
          ++runs;
          throw std::runtime_error("not yet");
        },
        {.name = "poll", .retries = kManyRetries});
    try {
      group.wait();
    } catch (const shoal::RetryError& error) {
      ADD_FAILURE() << error.what();
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "not yet");
    }
    EXPECT_TRUE(group.is_cancelled());
    EXPECT_GT(runs, 1);
    EXPECT_LT(runs, kManyRetries);
  });
}

TEST(Retries, TasksAndMessagesOfAttemptsThatFail_NeverBegin) {
  expect_well([](World& world) {
    std::atomic<int> spawned{0};
    std::vector<int> handled;
    const auto am = world.make_am([&](int i, const std::string& text) {
      handled.push_back(i);
      EXPECT_EQ(text, "text " + std::to_string(i));
    });
    const Rank to((world.rank() + 1) % world.size());
    Failing failing(3);
    world.spawn(
        [&] {
          for (int i = 0; i < 20; ++i) am.send(to, i, "text " + std::to_string(i));
          world.spawn([&] { ++spawned; });
          static_cast<void>(world.async([&] { ++spawned; }).then([&] { ++spawned; }));
          failing.end();
        },
        {.name = "sender", .retries = 3});
    world.wait();
    EXPECT_EQ(failing.runs, 4);
    EXPECT_EQ(spawned, 3);
    std::vector<int> expected;
    for (int i = 0; i < 20; ++i) expected.push_back(i);
    EXPECT_EQ(handled, expected);
  });
}

TEST(Retries, LargeAndUrgentMessagesAndMulticasts_TravelOnce) {
  expect_well([](World& world) {
    std::atomic<int> urgent{0};
    std::atomic<int> large{0};
    std::atomic<int> cast{0};
    const auto am = world.make_am([&](std::vector<double> values) {
      large += static_cast<int>(values.size());
      EXPECT_EQ(values.back(), 7.0);
    });
    const auto quick = world.make_am([&](int n) { urgent += n; });
    const auto all =
        world.make_am([&](const std::string& text) { cast += static_cast<int>(text.size()); });
    Failing failing(1);
    if (world.rank() == 1) {
      world.spawn(
          [&] {
            am.send(Rank(0), std::vector<double>(5000, 7.0));
            am.send(Rank(1), std::vector<double>(10, 7.0));
            quick.send_urgent(Rank(0), 2);
            all.multicast({Rank(0), Rank(1)}, std::string("abc"));
            failing.end();
          },
          {.retries = 1});
    }
    world.wait();
    EXPECT_EQ(large, world.rank() == 0 ? 5000 : 10);
    EXPECT_EQ(urgent, world.rank() == 0 ? 2 : 0);
    EXPECT_EQ(cast, 3);
  });
}

TEST(Retries, MessagesOfOtherTeams_Count) {
  expect_well([](World& world) {
    Team team(world, {Rank(0), Rank(1)}, "pair");
    std::atomic<int> handled{0};
    const auto of_world = world.make_am([&](int n) { handled += n; });
    const auto of_team = team.make_am([&](int n) { handled += n; });
    Failing failing(2);
    team.spawn(
        [&] {
          of_world.send(Rank(1 - world.rank()), 1);
          of_team.send(Rank(1 - world.rank()), 10);
          failing.end();
        },
        {.retries = 2});
    team.wait();
    world.wait();
    EXPECT_EQ(handled, 11);
  });
}

TEST(Retries, AResult_ComesFromTheAttemptThatSucceeds) {
  expect_well([](World& world) {
    Failing failing(2);
    auto value = world.async(
        [&, text = std::string("a")]() mutable {
          text += "b";  // each attempt begins with "a"
          failing.end();
          return text;
        },
        {.retries = 5});
    EXPECT_EQ(value.get(), "ab");
    EXPECT_EQ(failing.runs, 3);
  });
}

TEST(Retries, TheLastError_SaysHowOftenTheTaskFailed) {
  expect_well([](World& world) {
    auto value = world.async([]() -> int { throw std::runtime_error("no bananas"); },
                             {.name = "breakfast", .retries = 3});
    try {
      static_cast<void>(value.get());
      ADD_FAILURE() << "no exception";
    } catch (const shoal::RetryError& error) {
      EXPECT_STREQ(error.what(), "failed 4 times, the last: no bananas");
      EXPECT_EQ(error.attempts(), 4);
      EXPECT_THROW(std::rethrow_exception(error.last()), std::runtime_error);
    }
    world.wait();
    {
      Team team(world, {Rank(0), Rank(1)}, "kitchen");
      if (team.rank() == 0) {
        team.spawn([] { throw std::runtime_error("no bananas"); },
                   {.name = "breakfast", .retries = 1});
      }
      EXPECT_EQ(text_of_wait(team),
                "rank 0: breakfast failed: failed 2 times, the last: no bananas");
    }
  });
}

TEST(Retries, MisuseAndCancellation_AreNotTriedAgain) {
  expect_well([](World& world) {
    std::atomic<int> runs{0};
    auto wrong = world.async(
        [&] {
          ++runs;
          throw shoal::CheckError("wrong");
        },
        {.retries = 5});
    EXPECT_THROW(wrong.get(), shoal::CheckError);
    EXPECT_EQ(runs, 1);
    {
      Team team(world, {Rank(0), Rank(1)}, "solver");
      std::atomic<int> tries{0};
      if (team.rank() == 0) {
        team.spawn(
            [&] {
              ++tries;
              team.cancel("too large");
              throw std::runtime_error("ended");
            },
            {.retries = 100});
      }
      EXPECT_THAT(text_of_wait(team), HasSubstr("has cancelled team 'solver': too large"));
      EXPECT_LE(tries, 1);
    }
  });
}

TEST(Retries, GroupsAndTheirTasks) {
  expect_well([](World& /*world*/) {
    TaskGroup group("trials");
    std::atomic<int> ran{0};
    Failing failing(2);
    group.spawn(
        [&] {
          group.spawn([&] { ++ran; });
          failing.end();
        },
        {.name = "trial", .retries = 2});
    group.wait();
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(failing.runs, 3);
    group.spawn([] { throw std::runtime_error("never"); }, {.retries = 1});
    try {
      group.wait();
      ADD_FAILURE() << "no exception";
    } catch (const shoal::RetryError& error) {
      EXPECT_STREQ(error.what(), "failed 2 times, the last: never");
    }
  });
}

TEST(Retries, CountsOfLatchesAndSemaphores_AreWithheld) {
  expect_well([](World& world) {
    shoal::Latch latch(world, 2);
    shoal::Semaphore semaphore(world, 0);
    Failing failing(3);
    world.spawn(
        [&] {
          latch.count_down(2);
          semaphore.release();
          failing.end();
        },
        {.retries = 3});
    latch.wait();
    EXPECT_EQ(failing.runs, 4);
    semaphore.acquire();
    world.wait();
    EXPECT_FALSE(semaphore.try_acquire());
  });
}

// --- graphs

TEST(Retries, OfGraphs_FulfillAndSendOnce) {
  expect_well([](World& world) {
    constexpr int kLast = 12;
    std::array<std::atomic<int>, kLast + 1> runs{};
    std::atomic<long> sum{0};
    TaskGraph<int> graph(world, "chain");
    TaskGraph<int> ends(world, "ends");
    ends.set_indegree([](int) { return kLast; })
        .set_rank([](int) { return 0; })
        .set_task([&](int k) { sum += 1000 + k; });
    graph.set_rank([&](int k) { return k % world.size(); })
        .set_task([&](int k, std::vector<int> path) {
          const int run = ++runs[static_cast<std::size_t>(k)];
          path.push_back(k);
          ends.fulfill(0);
          const bool is_last = k + 1 == kLast;
          if (is_last) sum += static_cast<long>(path.size());
          if (!is_last) graph.send(k + 1, 0, std::move(path));
          if (run <= k % 3) throw std::runtime_error("not yet");
        })
        .set_retries([](int k) { return k % 3; });
    if (world.rank() == 0) graph.send(0, 0, std::vector<int>());
    world.wait();
    for (int k = 0; k < kLast; ++k) {
      if (k % world.size() != world.rank()) continue;
      EXPECT_EQ(runs[static_cast<std::size_t>(k)], k % 3 + 1) << k;
    }
    // The last task adds the length of its path in each attempt: additions are no effect of shoal.
    const bool has_last = (kLast - 1) % world.size() == world.rank();
    const long of_last = has_last ? kLast * ((kLast - 1) % 3 + 1) : 0;
    EXPECT_EQ(sum, of_last + (world.rank() == 0 ? 1000 : 0));
  });
}

TEST(Retries, OfGraphsWithoutInputs_InAnyOrderOfTheirFunctions) {
  expect_well([](World& world) {
    std::atomic<int> runs{0};
    std::atomic<int> after{0};
    TaskGraph<int> graph(world, "tree");
    graph.set_retries([](int k) { return k == 1 ? 2 : 0; })
        .set_indegree([](int) { return 1; })
        .set_task([&](int k) {
          ++runs;
          if (k > 8) ++after;
          if (k <= 8) graph.fulfill(10 + k);
          if (k == 1 && runs < 3) throw std::runtime_error("not yet");
        });
    graph.fulfill(1);
    world.wait();
    EXPECT_EQ(after, 1);
    EXPECT_EQ(runs, 4);
  });
}

// --- events

TEST(Retries, OfEvents_GetTheSameEventsAndFireOnce) {
  expect_well([](World& world) {
    Events events(world, "mail");
    Failing failing(2);
    std::atomic<int> got{0};
    std::atomic<int> later{0};
    const Rank to(1 - world.rank());
    events.submit({{shoal::any, "question"}},
                  [&](shoal::EventList& list) {
                    EXPECT_EQ(list.size(), 1U);
                    EXPECT_EQ(list[0].get<int>(), 42);
                    events.fire(to, "answer", list[0].get<int>() + 1);
                    events.fire(shoal::self, "answer", 1);
                    events.submit({}, [&] { ++later; });
                    list.clear();
                    failing.end();
                  },
                  {.name = "reader", .retries = 2});
    for (int i = 0; i < 2; ++i) {
      events.submit({{shoal::any, "answer"}},
                    [&](shoal::EventList& list) { got += list[0].get<int>(); });
    }
    events.fire(to, "question", 42);
    world.wait();
    EXPECT_EQ(failing.runs, 3);
    EXPECT_EQ(got, 44);
    EXPECT_EQ(later, 1);
  });
}

// --- flows

TEST(Retries, OfFlows_BeginWithTheSameValues) {
  expect_well([](World& world) {
    Flow flow(world, "steps");
    const auto number = flow.data(1, {.owner = Rank(0)});
    std::vector<double> place(4, 1.0);
    const auto vector = flow.vector(place.data(), place.size(), {.owner = Rank(1)});
    const auto sum = flow.data(0L);
    flow.set_reduction(
        sum, [](long& to) { to = 0; }, [](long& into, const long& from) { into += from; });
    Failing failing(8);
    for (int step = 0; step < 4; ++step) {
      flow.insert(
          [&failing, step](int& n, std::span<double> v, long& total, std::string text) {
            n += 2;
            for (double& x : v) x *= 3;
            total += step;
            text += "!";
            EXPECT_EQ(text, "text!");
            failing.end();
          },
          shoal::read_write(number), shoal::commutative(vector), shoal::reduction(sum),
          std::string("text"), shoal::with_retries(8), shoal::on_rank(Rank(step % 2)));
    }
    EXPECT_EQ(flow.get(number), 9);
    EXPECT_EQ(flow.get(vector), std::vector<double>(4, 81.0));
    EXPECT_EQ(flow.get(sum), 6);
  });
}

// --- objects

class Counter : public shoal::DistributedObject<Counter> {
 public:
  explicit Counter(Team& team) : DistributedObject(team) {}
  void add(int n) { values.push_back(n); }
  std::vector<int> values;
};

TEST(Retries, Invocations_HappenOnceAndInOrder) {
  expect_well([](World& world) {
    Counter counter(world);
    world.barrier();
    Failing failing(2);
    const int me = world.rank();
    world.spawn(
        [&, me] {
          for (int i = 0; i < 10; ++i) counter.async<&Counter::add>(Rank(1 - me), i);
          failing.end();
        },
        {.retries = 2});
    counter.fence();
    EXPECT_EQ(counter.values, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  });
}

// --- global memory

TEST(Retries, GlobalMemoryOfTheOwnRank_IsRead_AndAllIsUsedAsBeforeAfterwards) {
  expect_well([](World& world) {
    shoal::GlobalMemory memory(world, {.name = "field"});
    const auto words = memory.collective_allocate<long>(4);
    const Rank other(1 - world.rank());
    world.barrier();
    memory.put(words.on(other), 5L).wait();  // the way to it is known from now on
    world.barrier();
    Failing failing(1);
    auto read = world.async(
        [&] {
          const long value = memory.get(words);
          failing.end();
          return value;
        },
        {.retries = 1});
    EXPECT_EQ(read.get(), 5);
    world.barrier();
    memory.put(words.on(other), 6L).wait();
    world.barrier();
    memory.fetch_add(words.on(other), 1L);
    memory.fetch_add(words, 10L);
    EXPECT_GE(memory.fetch_add(words.on(other), 0L), 7);  // atomic, as what the others do
    world.barrier();
    EXPECT_EQ(memory.get(words), 17);
    EXPECT_EQ(memory.get(words.on(other)), 17);
    world.barrier();
  });
}

// --- refused

/// Things that an attempt may use.
struct Things {
  explicit Things(World& of)
      : world(of),
        memory(of, {.name = "field"}),
        words(memory.collective_allocate<long>(8)),
        flow(of, "steps"),
        number(flow.data(1)),
        events(of, "mail"),
        mutex(of, "door"),
        latch(of, 1),
        future(of.async([] { return 1; })),
        promise(of, "answer") {}
  World& world;
  shoal::GlobalMemory memory;
  shoal::GlobalPtr<long> words;
  Flow flow;
  shoal::Data<int> number;
  Events events;
  shoal::Mutex mutex;
  shoal::Latch latch;
  shoal::Future<int> future;
  shoal::Promise<int> promise;
};

using Call = std::function<void(Things&, Rank)>;

const std::map<std::string, Call>& refused() {
  static const std::map<std::string, Call> all{
      {"get() of 'task'", [](Things& t, Rank /*to*/) { static_cast<void>(t.future.get()); }},
      {"call() or publish()",
       [](Things& t, Rank to) { static_cast<void>(t.world.call(to, [] { return 1; })); }},
      {"the value of promise 'answer'", [](Things& t, Rank /*to*/) { t.promise.set_value(1); }},
      {"lock() of mutex 'door'", [](Things& t, Rank /*to*/) { t.mutex.lock(); }},
      {"try_lock() of a mutex",
       [](Things& t, Rank /*to*/) { static_cast<void>(t.mutex.try_lock()); }},
      {"memory 'field': put", [](Things& t, Rank to) { t.memory.put(t.words.on(to), 1L); }},
      {"operation on a word", [](Things& t, Rank to) { t.memory.fetch_add(t.words.on(to), 1L); }},
      {"memory 'field': scatter",
       [](Things& t, Rank to) {
         const std::vector<shoal::GlobalPtr<long>> places{t.words.on(to)};
         const std::array<long, 1> values{1};
         t.memory.scatter(places, std::span<const long>(values));
       }},
      {"flow 'steps': insert()",
       [](Things& t, Rank /*to*/) { t.flow.insert([](int& n) { ++n; }, shoal::write(t.number)); }},
      {"barrier()", [](Things& t, Rank /*to*/) { t.world.barrier(); }},
      {"yield()", [](Things& /*t*/, Rank /*to*/) { shoal::yield(); }},
      {"wait() of a task group", [](Things& /*t*/, Rank /*to*/) { const TaskGroup group; }},
      {"parallel_for", [](Things& /*t*/, Rank /*to*/) { shoal::parallel_for(0, 100, [](int) {}); }},
      {"parallel_invoke", [](Things& /*t*/, Rank /*to*/) { shoal::parallel_invoke([] {}); }},
      {"parallel_for_each",
       [](Things& /*t*/, Rank /*to*/) {
         const std::vector<int> roots{1};
         shoal::parallel_for_each(roots, [](int, shoal::Feeder<int>&) {});
       }},
      {"parallel_reduce",
       [](Things& /*t*/, Rank /*to*/) {
         static_cast<void>(shoal::parallel_reduce(0, 0, 0, [](int i) { return i; }));
       }},
      {"parallel_scan",
       [](Things& /*t*/, Rank /*to*/) {
         std::vector<int> sums(100, 1);
         shoal::parallel_scan(sums.begin(), sums.end(), sums.begin());
       }},
      {"parallel_sort",
       [](Things& /*t*/, Rank /*to*/) {
         std::vector<int> values{2, 1};
         shoal::parallel_sort(values);
       }},
      {"pipeline()",
       [](Things& /*t*/, Rank /*to*/) {
         shoal::pipeline(
             {}, []() -> std::optional<int> { return std::nullopt; }, shoal::parallel([](int) {}));
       }},
      {"run() of a static graph", [](Things& /*t*/, Rank /*to*/) { shoal::StaticGraph().run(); }},
      {"making a team",
       [](Things& t, Rank /*to*/) {
         const Team team(t.world, {Rank(0), Rank(1)}, "pair");
       }},
      {"making an active message",
       [](Things& t, Rank /*to*/) { static_cast<void>(t.world.make_am([](int) {})); }},
      {"retrieve_any()",
       [](Things& t, Rank /*to*/) {
         static_cast<void>(t.events.retrieve_any({{shoal::any, "x"}}));
       }},
      {"an event that the machine fires",
       [](Things& t, Rank /*to*/) {
         t.events.fire_after(std::chrono::microseconds(1), shoal::self, "x");
       }},
  };
  return all;
}

TEST(Retries, WhatCannotBeWithheld_IsRefusedByName_WhereverTheTargetIs) {
  for (const auto& [name, call] : refused()) {
    SCOPED_TRACE(name);
    expect_well([&name = name, &call = call](World& world) {
      Things things(world);
      world.barrier();
      for (int to = 0; to < 2; ++to) {
        std::atomic<int> runs{0};
        std::string text;
        auto ended = world.async(
            [&] {
              ++runs;
              try {
                call(things, Rank(to));
              } catch (const shoal::CheckError&) {  // the attempt fails nevertheless
              }
            },
            {.name = "trial", .retries = 2});
        try {
          ended.get();
        } catch (const shoal::CheckError& error) {
          text = error.what();
        }
        EXPECT_THAT(text, AllOf(HasSubstr(name),
                                HasSubstr(", in attempt 1 of 3 of 'trial' on rank " +
                                          std::to_string(world.rank()) +
                                          ", cannot be withheld until the attempt succeeds: do it "
                                          "in a task that this one spawns")));
        EXPECT_EQ(runs, 1);
      }
      things.promise.set_value(1);
      static_cast<void>(things.future.get());
      world.wait();
    });
  }
}

TEST(Retries, AFunctionThatCannotBeginAgain_IsRefused) {
  expect_well([](World& world) {
    auto once = [p = std::make_unique<int>(1)]() mutable { p.reset(); };
    try {
      world.spawn(std::move(once), {.name = "once", .retries = 1});
      ADD_FAILURE() << "no exception";
    } catch (const shoal::CheckError& error) {
      EXPECT_THAT(error.what(), HasSubstr("task 'once' cannot be tried again: its function is "
                                          "mutable and cannot be copied"));
    }
    // Captures that it only reads may be of any type.
    Failing failing(1);
    auto value = world.async(
        [&failing, p = std::make_unique<int>(5)] {
          failing.end();
          return *p;
        },
        {.retries = 1});
    EXPECT_EQ(value.get(), 5);
    EXPECT_THROW(world.spawn([] {}, {.retries = -1}), shoal::CheckError);
  });
}

}  // namespace runtime_retries_test
