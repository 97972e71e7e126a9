// Rows of table 3.1 of the STAPL-RTS thesis, handles, and what goes wrong.

#include "object/run_queue.hpp"
#include "support/object_worlds.hpp"
#include "support/refusal.hpp"
#include "support/run_world.hpp"
#include "support/sizes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace object_invocation_test {

using shoal::all_ranks;
using shoal::bind;
using shoal::const_overload;
using shoal::DistributedObject;
using shoal::Future;
using shoal::Futures;
using shoal::Handle;
using shoal::overload;
using shoal::Promise;
using shoal::Rank;
using shoal::Team;
using shoal::World;
using shoal::testing::in_object_worlds;
using shoal::testing::object_error;
using shoal::testing::refusal_of;
using shoal::testing::run_world;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Counter : public DistributedObject<Counter> {
 public:
  explicit Counter(Team& team) : DistributedObject(team) {}
  virtual ~Counter() = default;
  Counter(const Counter&) = default;
  Counter(Counter&&) = default;
  Counter& operator=(const Counter&) = delete;
  Counter& operator=(Counter&&) = delete;

  void add(int n) { value += n; }
  void add(const std::string& text) { value += static_cast<int>(text.size()); }
  [[nodiscard]] int get() const { return value; }
  int get() { return ++value; }
  void take(std::unique_ptr<int> n) { value += *n; }
  [[nodiscard]] int rank_plus(int n) const { return rank() + n; }
  [[nodiscard]] virtual std::string kind() const { return "counter"; }
  void fail() const { throw std::runtime_error("no such counter " + std::to_string(value)); }
  void nothing() {}
  void plus(int n) { value += n; }
  [[nodiscard]] const Counter& self() const { return *this; }
  // NOLINTNEXTLINE(readability-convert-member-functions-to-static): is invoked
  [[nodiscard]] int value_of(const Counter* other) const {
    return other != nullptr ? other->value : -1;
  }
  int value = 0;
};

class LoudCounter : public Counter {
 public:
  using Counter::Counter;
  [[nodiscard]] std::string kind() const override { return "loud counter"; }
  [[nodiscard]] int shout() const { return 1000 + value; }
};

TEST(Invocation, ToOneRank_InEachForm) {
  in_object_worlds(3, [](World& world) {
    Counter a(world);
    const Rank next((world.rank() + 1) % world.size());
    a.async<overload<int>(&Counter::add)>(next, 5);
    a.async<overload<const std::string&>(&Counter::add)>(next, "four");
    EXPECT_EQ(a.sync<const_overload<>(&Counter::get)>(next), 9);
    EXPECT_EQ(a.sync<overload<>(&Counter::get)>(next), 10);
    a.try_async<&Counter::take>(next, std::make_unique<int>(7));
    Future<int> future = a.call<[](const Counter& counter) { return counter.value; }>(next);
    EXPECT_EQ(future.get(), 17);
    a.sync<&Counter::nothing>(next);
    a.fence();
    EXPECT_EQ(a.value, 17);
  });
}

TEST(Invocation, ToAllRanks_AndCollectives) {
  in_object_worlds(4, [](World& world) {
    Counter a(world);
    if (world.rank() == 2) {
      a.async<overload<int>(&Counter::add)>(all_ranks, 3);
      Futures<int> all = a.call<&Counter::rank_plus>(all_ranks, 10);
      EXPECT_EQ(all.size(), 4U);
      all.wait(1);
      EXPECT_TRUE(all.is_ready(1));
      EXPECT_EQ(all.get(1), 11);
      EXPECT_EQ(all.get(3), 13);
      EXPECT_THAT(a.call<const_overload<>(&Counter::get)>(all_ranks).get(),
                  ElementsAre(3, 3, 3, 3));
      EXPECT_EQ(a.call<&Counter::rank_plus>(all_ranks, 10).get(3), 13);
      EXPECT_THAT(a.sync<&Counter::rank_plus>(all_ranks, 5), ElementsAre(5, 6, 7, 8));
      a.sync<&Counter::nothing>(all_ranks);
      a.try_async<overload<int>(&Counter::add)>(all_ranks, 1);
      a.async<overload<int>(&Counter::add)>(all_ranks, -1);
      EXPECT_EQ(a.reduce<&Counter::rank_plus>(std::plus<>(), 1).get(), 10);
      EXPECT_EQ(a.unordered().reduce<&Counter::rank_plus>(std::plus<>(), 1).get(), 10);
      a.call<&Counter::nothing>(all_ranks).get();
      EXPECT_EQ(a.call<&Counter::rank_plus>(all_ranks, 0)
                    .then([](const std::vector<int>& ranks) { return ranks.back(); })
                    .get(),
                3);
    }
    a.fence();
    EXPECT_EQ(a.value, 3);
    EXPECT_THAT(a.allgather<&Counter::rank_plus>(2).get(), ElementsAre(2, 3, 4, 5));
    Future<int> sum = a.allreduce<&Counter::rank_plus>(std::plus<>(), 0);
    Future<int> prefix = a.scan<&Counter::rank_plus>(std::plus<>(), 0);
    EXPECT_EQ(a.broadcast<&Counter::rank_plus>(Rank(3), 100).get(), 103);
    EXPECT_EQ(sum.get(), 6);
    EXPECT_EQ(prefix.get(), world.rank() * (world.rank() + 1) / 2);
    a.barrier();
  });
}

TEST(Invocation, Handles_AreCompactCompareAndTravel) {
  static_assert(sizeof(Handle<Counter>) == 24);
  in_object_worlds(3, [](World& world) {
    Counter a(world);
    Counter b(world);
    b.value = 40 + world.rank();
    b.advance_epoch();
    std::set<Handle<Counter>> handles{b.handle(), a.handle(), b.handle()};
    EXPECT_EQ(handles.size(), 2U);
    EXPECT_EQ(&a.handle().get(), &a);
    EXPECT_EQ(Handle<Counter>().find(), nullptr);
    EXPECT_FALSE(Handle<Counter>());
    const Rank next((world.rank() + 1) % world.size());
    EXPECT_EQ(a.sync<&Counter::value_of>(next, &b), 40 + next);
    EXPECT_EQ(a.sync<&Counter::value_of>(next, b.handle()), 40 + next);
    EXPECT_EQ(a.sync<&Counter::value_of>(next, nullptr), -1);
    EXPECT_EQ(b.sync<&Counter::self>(next), b.handle());
    using Asked = int(const Handle<Counter>&);
    Asked* const ask = [](const Handle<Counter>& handle) { return handle.get().value; };
    static_cast<void>(ask);
    a.fence();
  });
}

TEST(Invocation, OfHierarchies_CallsTheClassOfTheRepresentative) {
  in_object_worlds(2, [](World& world) {
    LoudCounter loud(world);
    loud.value = 5;
    loud.advance_epoch();
    const Handle<Counter> handle = loud.handle();
    const Rank other(1 - world.rank());
    EXPECT_EQ(handle.sync<&Counter::kind>(other), "loud counter");
    EXPECT_EQ(handle.sync<&LoudCounter::shout>(other), 1005);
    const Counter plain(world);
    EXPECT_THROW(plain.sync<&LoudCounter::shout>(other), shoal::RemoteError);
    loud.fence();
  });
}

TEST(Invocation, OnTeams_UsesItsRanks_AndCountsThere) {
  in_object_worlds(4, [](World& world) {
    Team team = world.split(world.rank() % 2, -world.rank());
    Counter a(team);
    EXPECT_EQ(a.sync<&Counter::rank_plus>(Rank(1), 10), 11);
    a.async<overload<int>(&Counter::add)>(Rank(0), 2);
    a.fence();
    EXPECT_EQ(a.value, team.rank() == 0 ? 4 : 0);
  });
}

// Section 7.6 of the thesis: intergang invocations.
class Log : public DistributedObject<Log> {
 public:
  explicit Log(Team& team) : DistributedObject(team) {}
  void note(int from, int number) { numbers[from].push_back(number); }
  void note_all(int from, const std::vector<int>& all) {
    numbers[from].insert(numbers[from].end(), all.begin(), all.end());
  }
  void pass_on(int from, int number) { async<&Log::note>(Rank(1), from, number); }
  [[nodiscard]] std::size_t count(int from) const {
    const auto it = numbers.find(from);
    return it != numbers.end() ? it->second.size() : 0;
  }
  [[nodiscard]] int rank_plus(int n) const { return rank() + n; }
  void take(const std::unique_ptr<int>& n) { taken += *n; }
  [[nodiscard]] int value_of(const Counter& other) const { return other.value + taken; }
  void slowly(bool& done) {
    for (int i = 0; i < 20; ++i) shoal::yield();
    done = true;
  }
  void fail() const { throw std::runtime_error("no log " + std::to_string(taken)); }
  std::map<int, std::vector<int>> numbers;
  int taken = 0;
};

TEST(Outside, RanksThatAreNoMembers_InvokeInEachForm_InOrder) {
  in_object_worlds(5, [](World& world) {
    Team team(world, {Rank(4), Rank(1)});
    const std::optional<Log> log =
        team.is_member() ? std::optional<Log>(std::in_place, team) : std::nullopt;
    const Handle<Log> handle = world.broadcast(log ? log->handle() : Handle<Log>(), Rank(1));
    world.barrier();  // all members have made it
    const int here = world.rank().value();
    EXPECT_EQ(handle.find() != nullptr, team.is_member());
    for (int i = 0; i < 30; ++i) {
      handle.async<&Log::note>(Rank(0), here, i);
      handle.async<&Log::pass_on>(Rank(0), here, i);
      handle.try_async<&Log::note>(Rank(1), here + 10, i);
    }
    EXPECT_EQ(handle.sync<&Log::count>(Rank(0), here), 30U);
    EXPECT_EQ(handle.sync<&Log::count>(Rank(1), here + 10), 30U);
    EXPECT_EQ(handle.call<&Log::rank_plus>(Rank(1), 7).get(), 8);
    EXPECT_THAT(handle.call<&Log::rank_plus>(all_ranks, 0).get(), ElementsAre(0, 1));
    EXPECT_EQ(handle.reduce<&Log::rank_plus>(std::plus<>(), 10).get(), 21);
    handle.unordered().async<&Log::take>(Rank(0), std::make_unique<int>(2));
    handle.async<&Log::take>(all_ranks, std::make_unique<int>(1));
    auto to_one = bind<&Log::note>(handle, Rank(1), here + 20);
    for (int i = 0; i < 30; ++i) to_one(i);
    world.wait();
    if (log) {
      EXPECT_EQ(log->taken, 5 + (team.rank() == 0 ? 10 : 0));
      EXPECT_EQ(log->numbers.size(), team.rank() == 0 ? 5U : 15U);
      for (const auto& [from, numbers] : log->numbers) {
        EXPECT_TRUE(numbers.size() == 30 && std::ranges::is_sorted(numbers)) << from;
      }
    }
    world.barrier();
  });
}

TEST(Outside, InvocationsWaitUntilRank0HasMadeTheTeam) {
  const std::map<int, std::vector<int>> in_order{{0, {0, 1, 2, 3, 4}}};
  in_object_worlds(3, [&](World& world) {
    Promise<Handle<Log>> made(world);
    Promise<void> go(world);
    Future<Handle<Log>> made_there = made.future();
    Future<void> may_go = go.future();
    const auto to_0 = world.broadcast(world.publish(std::move(made)), Rank(0));
    const auto to_1 = world.broadcast(world.publish(std::move(go)), Rank(1));
    if (world.rank() == 1) may_go.get();
    Team team(world, {Rank(1), Rank(2)});
    const std::optional<Log> log =
        team.is_member() ? std::optional<Log>(std::in_place, team) : std::nullopt;
    if (world.rank() == 2) world.fulfill(to_0, log->handle());
    const Handle<Log> handle = world.rank() == 0 ? made_there.get() : Handle<Log>();
    for (int i = 0; i < 5 && world.rank() == 0; ++i) {
      handle.async<&Log::note>(all_ranks, 0, i);
      if (i == 3) world.fulfill(to_1);  // comes behind the first invocations
    }
    world.wait();
    EXPECT_TRUE(!log || log->numbers == in_order);
    world.barrier();
  });
}

TEST(Outside, InvocationsOfManyBytesWaitUntilRank0HasMadeTheTeam) {
  static constexpr int kCount = 30'000;
  in_object_worlds(3, [](World& world) {
    Promise<Handle<Log>> made(world);
    Future<Handle<Log>> made_there = made.future();
    const auto to_0 = world.broadcast(world.publish(std::move(made)), Rank(0));
    if (world.rank() == 1) {
      for (int i = 0; i < 20; ++i) shoal::yield();
    }
    if (world.rank() == 0) {
      const Handle<Log> handle = made_there.get();
      handle.async<&Log::note_all>(all_ranks, 0, std::vector<int>(kCount, 5));
      handle.async<&Log::note>(all_ranks, 0, 6);
      world.wait();
    } else {
      Team team(world, {Rank(1), Rank(2)});
      Log log(team);
      if (world.rank() == 2) world.fulfill(to_0, log.handle());
      world.wait();
      std::vector<int> expected(kCount, 5);
      expected.push_back(6);
      EXPECT_EQ(log.numbers[0], expected);
    }
    world.barrier();
  });
}

// One of the two members never makes the team. The invocations, of few and of many bytes, wait
// there: on its first rank, or on their way from that.
TEST(Outside, InvocationsForATeamThatOneMemberNeverMakes_AreReportedByTheirMethods) {
  for (int run = 0; run < 16; ++run) {
    const int maker = 1 + run % 2;
    const bool is_large = run / 2 % 2 == 1;
    const auto seed = static_cast<std::uint64_t>(run);
    const std::string text = object_error(3, seed, [&](World& world) {
      Promise<Handle<Log>> made(world);
      Future<Handle<Log>> made_there = made.future();
      const auto to_0 = world.broadcast(world.publish(std::move(made)), Rank(0));
      if (world.rank() == maker) {
        Team team(world, {Rank(1), Rank(2)});
        Log log(team);
        world.fulfill(to_0, log.handle());
        world.wait();
      } else if (world.rank() == 0) {
        const Handle<Log> handle = made_there.get();
        if (is_large) {
          handle.async<&Log::note_all>(Rank(1), 0, std::vector<int>(30'000, 5));
        } else {
          handle.async<&Log::note>(Rank(1), 0, 5);
        }
      }
      world.wait();
    });
    const std::string where =
        maker == 1 ? "rank 2: messages from rank 1" : "rank 1: messages from rank 0";
    const std::string method = is_large ? "Log::note_all" : "Log::note";
    EXPECT_THAT(text, AllOf(HasSubstr(where + " are for a team that was never made here"),
                            HasSubstr(method + ", invoked by rank 0 of the world on object 1 ("),
                            HasSubstr(" bytes wait)")))
        << run;
  }
}

// Rank 0 comes last to the team, of which it is rank `at`, and has the handle before. Its first
// invocations go through rank 0 of the team, which it may be itself; the later ones keep their
// order.
TEST(Outside, AMemberThatHasNotMadeTheTeam_InvokesInOrder) {
  std::vector<int> all(20);
  std::iota(all.begin(), all.end(), 0);
  for (const int at : {0, 1, 2}) {
    in_object_worlds(3, [&](World& world) {
      std::vector<Rank> ranks{Rank(1), Rank(2)};
      ranks.insert(ranks.begin() + at, Rank(0));
      Promise<Handle<Log>> made(world);
      Future<Handle<Log>> made_there = made.future();
      const auto to_0 = world.broadcast(world.publish(std::move(made)), Rank(0));
      const bool is_late = world.rank() == 0;
      Handle<Log> handle;
      const auto note = world.make_am([&](int i) { handle.async<&Log::note>(all_ranks, 1, i); });
      Future<int> sum;
      if (is_late) {
        handle = made_there.get();
        EXPECT_EQ(handle.find(), nullptr);
        for (int i = 0; i < 10; ++i) {
          handle.async<&Log::note>(all_ranks, 0, i);
          note.send(Rank(0), i);
        }
        sum = handle.call<&Log::rank_plus>(Rank((at + 1) % 3), 7);
        for (int i = 0; i < 10; ++i) shoal::yield();  // the messages to itself
      }
      Team team(world, ranks);
      Log log(team);
      if (world.rank() == 2) world.fulfill(to_0, log.handle());
      if (is_late) {
        for (int i = 10; i < 20; ++i) {
          log.async<&Log::note>(all_ranks, 0, i);
          note.send(Rank(0), i);
        }
        EXPECT_EQ(sum.get(), (at + 1) % 3 + 7);
        EXPECT_EQ(log.sync<&Log::count>(Rank((at + 2) % 3), 0), 20U);
      }
      log.fence();
      EXPECT_EQ(log.numbers[0], all);
      world.wait();
      EXPECT_EQ(log.numbers[1], all);
      world.barrier();
    });
  }
}

// The team fails before it has answered.
TEST(Outside, AMemberThatHasNotMadeTheTeam_HearsOfItsFailure) {
  in_object_worlds(2, [](World& world) {
    Promise<Handle<Log>> made(world);
    Future<Handle<Log>> made_there = made.future();
    const auto to_0 = world.broadcast(world.publish(std::move(made)), Rank(0));
    Future<unsigned long> answer;
    if (world.rank() == 0) {
      const Handle<Log> handle = made_there.get();
      handle.async<&Log::fail>(Rank(0));
      answer = handle.call<[](Log& /*log*/, int) -> unsigned long {
        return shoal::Promise<unsigned long>(std::string("never")).future().get();
      }>(Rank(0), 1);
    }
    Team team(world, {Rank(1), Rank(0)});
    Log log(team);
    if (world.rank() == 1) world.fulfill(to_0, log.handle());
    EXPECT_THROW(team.wait(), shoal::TaskError);
    if (world.rank() == 0) EXPECT_THROW(answer.get(), shoal::Error);
  });
}

TEST(Outside, TheCallersTeamWaitsUntilItsInvocationsHaveRun) {
  static std::array<bool, 4> done{};
  in_object_worlds(4, [](World& world) {
    Log everywhere(world);
    Team team = world.split(world.rank().value() / 2);
    Log log(team);
    const Handle<Log> others =
        world.allgather(log.handle())[static_cast<std::size_t>(3 - world.rank().value())];
    const auto which = static_cast<std::size_t>(world.rank().value() / 2);
    done[which] = done[which + 2] = false;
    world.barrier();
    if (team.rank() == 0) {
      team.spawn([&everywhere, others, which] {
        constexpr auto slowly = [](Log& one, std::size_t flag) { one.slowly(done[flag]); };
        others.async<slowly>(Rank(1), which);
        everywhere.async<slowly>(Rank(3), which + 2);
      });
    }
    team.wait();
    EXPECT_TRUE(done[which] && done[which + 2]);
    world.barrier();
  });
}

// By rank 0 of the team, another member, and a rank that was none.
TEST(Outside, AnAttemptOnAnObjectWhoseTeamHasEnded_IsIgnored) {
  in_object_worlds(3, [](World& world) {
    Handle<Log> handle;
    {
      Team team(world, {Rank(0), Rank(1)});
      std::optional<Log> log;
      if (team.is_member()) log.emplace(team);
      handle = world.broadcast(log ? log->handle() : handle, Rank(0));
      world.barrier();
    }
    world.wait();
    for (int from = 0; from < 3; ++from) {
      if (world.rank() == from) {
        handle.try_async<&Log::note>(Rank(1), 1, 2);
        handle.try_async<&Log::note>(all_ranks, 1, 2);
      }
      world.wait();
    }
    Team mine = world.split(world.rank().value());
    mine.spawn([handle] { handle.try_async<&Log::note>(Rank(0), 1, 2); });
    mine.wait();
  });
}

// By main functions, which nothing keeps from invoking while the team ends: members and another.
TEST(Outside, AttemptsWhileTheTeamOfTheirObjectEnds_AreIgnored) {
  const auto program = [](World& world) {
    for (int round = 0; round < 4; ++round) {
      Handle<Log> handle;
      if (world.rank() == 0) {
        handle = shoal::construct<Log>(world, {Rank(0), Rank(1)}).get();
      }
      handle = world.broadcast(handle, Rank(0));
      if (world.rank() == round % 3) shoal::ObjectDeleter<Log>()(handle);
      for (int i = 0; i < 6; ++i) {
        handle.try_async<&Log::note>(Rank((world.rank() + i) % 2), round, i);
        handle.try_async<&Log::note>(all_ranks, round, i);
        if (i % 2 == 1) shoal::sleep_for(std::chrono::microseconds(10));
      }
      world.wait();
    }
  };
  in_object_worlds(3, program, 60);
  for (int i = 0; i < shoal::testing::sized(30, 10); ++i) EXPECT_EQ(run_world(3, 2, program), 0);
}

// What must run is named, not waited for.
TEST(Outside, AnInvocationAfterTheEndOfTheTeamOfItsObject_IsNamed) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const std::string text = object_error(3, seed, [](World& world) {
      Handle<Log> handle;
      if (world.rank() == 0) handle = shoal::construct<Log>(world, {Rank(0), Rank(1)}).get();
      handle = world.broadcast(handle, Rank(0));
      if (world.rank() == 0) shoal::ObjectDeleter<Log>()(handle);
      world.wait();
      if (world.rank() == 2) handle.async<&Log::note>(Rank(1), 1, 2);
      world.wait();
    });
    EXPECT_THAT(text, HasSubstr("its team has ended: keep the object until all invocations have "
                                "run"))
        << seed;
  }
}

/// A log of invocations that wait: one that comes later must not begin meanwhile.
class Slow : public DistributedObject<Slow> {
 public:
  explicit Slow(Team& team) : DistributedObject(team) {}
  [[nodiscard]] int nap() const { return 0; }
  void run(int number) {
    log += "<" + std::to_string(number);
    static_cast<void>(sync<&Slow::nap>(Rank(0)));
    log += ">";
  }
  std::string log;
};

TEST(Outside, InvocationsFromAHandler_KeepTheirOrder_WhateverItsRank) {
  in_object_worlds(3, [](World& world) {
    Team callers = world.split(0);
    Team team = world.split(0);
    Slow slow(team);
    const auto go = callers.make_am([&](int first) {
      for (int i = 0; i < 3; ++i) slow.async<&Slow::run>(Rank(1), first + i);
    });
    world.barrier();
    for (int from = 0; from < 3; ++from) {
      if (world.rank() == 1) go.send(Rank(from), 10 * from + 1);
      world.wait();
      const std::string tens = from == 0 ? "" : std::to_string(from);
      const std::string expected = "<" + tens + "1><" + tens + "2><" + tens + "3>";
      EXPECT_EQ(slow.log, world.rank() == 1 ? expected : "") << "handler on rank " << from;
      slow.log.clear();
      world.wait();
    }
  });
}

TEST(Outside, InvocationsFromAHandlerOfARankThatIsNoMember_KeepTheirOrder) {
  in_object_worlds(4, [](World& world) {
    Team team(world, {Rank(1), Rank(2)});
    std::optional<Slow> slow;
    if (team.is_member()) slow.emplace(team);
    const auto handle = world.broadcast(slow ? slow->handle() : Handle<Slow>(), Rank(1));
    const auto go = world.make_am([handle](int first) {
      for (int i = 0; i < 3; ++i) handle.async<&Slow::run>(Rank(1), first + i);
    });
    world.barrier();
    for (const int from : {0, 3}) {
      if (world.rank() == 1) go.send(Rank(from), 1);
      world.wait();
      EXPECT_TRUE(world.rank() != 2 || slow->log == "<1><2><3>")
          << "handler on rank " << from << ": " << slow->log;
      if (slow) slow->log.clear();
      world.wait();
    }
  });
}

// A member, in a task of another team: its invocations keep their order with those from there.
TEST(Outside, ATaskOfAnotherTeam_OnAMember) {
  in_object_worlds(4, [](World& world) {
    Log log(world);
    Team team = world.split(world.rank().value() % 2);
    Team inner(team, {Rank(1), Rank(0)});
    Log nested(inner);
    const int here = world.rank().value();
    team.spawn([&, here] {
      for (int i = 0; i < 20; ++i) nested.async<&Log::note>(Rank(0), here, i);
      for (int i = 0; i < 20; ++i) log.async<&Log::note>(Rank(0), here, i);
      EXPECT_EQ(log.sync<&Log::count>(Rank(0), here), 20U);
    });
    inner.spawn([&, here] { log.async<&Log::note>(Rank(3), here, 0); });
    team.wait();
    world.wait();
    EXPECT_EQ(log.numbers.size(), here == 0 || here == 3 ? 4U : 0U);
    EXPECT_EQ(nested.numbers.size(), inner.rank() == 0 ? 2U : 0U);
    world.barrier();
  });
}

TEST(Outside, WhatGoesWrong_IsNamed) {
  const auto on_rank_1 = [](auto program) {
    return object_error(2, 3, [&](World& world) {
      Team team(world, {Rank(1)});
      auto log = team.is_member() ? std::make_unique<Log>(team) : nullptr;
      const Handle<Log> handle = world.broadcast(log ? log->handle() : Handle<Log>(), Rank(1));
      const Counter everywhere(world);
      world.barrier();
      program(world, handle, log, everywhere);
      world.wait();
    });
  };
  using Log1 = std::unique_ptr<Log>;
  EXPECT_EQ(on_rank_1([](World& world, Handle<Log> handle, Log1&, const Counter& everywhere) {
              if (world.rank() == 1) return;
              EXPECT_EQ(handle.sync<&Log::value_of>(Rank(0), everywhere), 0);
              EXPECT_THROW(handle.sync<&Log::fail>(Rank(0)), shoal::RemoteError);
            }),
            "");
  EXPECT_THAT(on_rank_1([](World&, Handle<Log> handle, Log1&, const Counter&) { handle.fence(); }),
              AllOf(HasSubstr("rank 0 of the world"), HasSubstr("not a member")));
  EXPECT_THAT(on_rank_1([](World& world, Handle<Log> handle, Log1&, const Counter&) {
                if (world.rank() == 0) handle.async<&Log::count>(Rank(1), 0);
              }),
              HasSubstr("rank 1 is out of range: the object's team has ranks 0 to 0"));
  EXPECT_THAT(on_rank_1([](World& world, Handle<Log> handle, Log1& log, const Counter&) {
                log.reset();
                world.barrier();
                if (world.rank() == 0) handle.async<&Log::count>(Rank(0), 0);
              }),
              AllOf(HasSubstr("Log::count was invoked by rank 0 of the world"),
                    HasSubstr("was destroyed")));
  EXPECT_THAT(on_rank_1([](World& world, Handle<Log> handle, Log1&, const Counter&) {
                if (world.rank() == 0) handle.async<&Log::fail>(Rank(0));
              }),
              HasSubstr("no log 0"));
  // A representative that the receiver has not.
  EXPECT_THAT(
      object_error(2, 3,
                   [](World& world) {
                     const Counter a(world);
                     Team team(world, {Rank(0)});
                     if (world.rank() == 0) {
                       const Counter b(team);
                       static_cast<void>(a.sync<&Counter::value_of>(Rank(1), &b));
                     }
                     world.wait();
                   }),
      AllOf(HasSubstr("object 1"), HasSubstr("rank 1 of the world"), HasSubstr("not a member")));
  // A team without the own rank.
  EXPECT_THAT(object_error(2, 3,
                           [](World& world) {
                             Team team(world, {Rank(0)});
                             if (world.rank() == 1) const Counter nowhere(team);
                             world.wait();
                           }),
              HasSubstr("is used on rank 1, which is no member of it: ask is_member() first"));
  // A team that has ended.
  EXPECT_THAT(object_error(2, 3,
                           [](World& world) {
                             Handle<Log> handle;
                             {
                               Team team(world, {Rank(1)});
                               const std::unique_ptr<Log> log =
                                   team.is_member() ? std::make_unique<Log>(team) : nullptr;
                               handle = world.broadcast(log ? log->handle() : handle, Rank(1));
                             }
                             world.barrier();
                             if (world.rank() == 0) handle.async<&Log::count>(Rank(0), 0);
                             world.wait();
                           }),
              AllOf(HasSubstr("Log::count"), HasSubstr("its team has ended")));
}

TEST(Object, MayBeMovedCopiedAndDestroyedInAnyOrder) {
  in_object_worlds(3, [](World& world) {
    auto a = std::make_unique<Counter>(world);
    auto b = std::make_unique<Counter>(world);
    a->value = 1;
    b->value = 2;
    Counter moved = std::move(*a);
    Counter copied = *b;
    a.reset();
    copied.value = 3;
    copied.advance_epoch();
    const Rank next((world.rank() + 1) % world.size());
    EXPECT_EQ(moved.sync<const_overload<>(&Counter::get)>(next), 1);
    EXPECT_EQ(b->sync<const_overload<>(&Counter::get)>(next), 2);
    EXPECT_EQ(copied.sync<const_overload<>(&Counter::get)>(next), 3);
    world.wait();
    const Handle<Counter> gone = b->handle();
    b.reset();
    world.barrier();
    gone.try_async<overload<int>(&Counter::add)>(next, 1);
    try {
      gone.sync<const_overload<>(&Counter::get)>(next);
      ADD_FAILURE();
    } catch (const shoal::RemoteError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("Counter"), HasSubstr("was destroyed")));
    }
    moved.fence();
  });
}

TEST(Object, IsDeletedByOneRank) {
  static std::atomic<int> alive{0};
  class Counted : public DistributedObject<Counted> {
   public:
    explicit Counted(Team& team) : DistributedObject(team) { ++alive; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    ~Counted() { --alive; }
    void touch() {}
  };
  in_object_worlds(3, [](World& world) {
    auto* const object = new Counted(world);  // NOLINT(cppcoreguidelines-owning-memory)
    const Handle<Counted> handle = object->handle();
    world.barrier();
    if (world.rank() == 1) {
      handle.async<&Counted::touch>(all_ranks);
      shoal::ObjectDeleter<Counted>()(handle);
    }
    world.wait();
    EXPECT_EQ(handle.find(), nullptr);
  });
  EXPECT_EQ(alive, 0);
}

TEST(Failure, OfAnInvocation_FailsItsTeam_ThatOfACallItsFuture) {
  EXPECT_THAT(
      object_error(2, 5,
                   [](World& world) {
                     Counter a(world);
                     if (world.rank() == 0) a.async<&Counter::fail>(Rank(1));
                     a.fence();
                   }),
      AllOf(HasSubstr("no such counter 0"), HasSubstr("Counter::fail"), HasSubstr("rank 1")));
  in_object_worlds(2, [](World& world) {
    Counter a(world);
    try {
      a.sync<&Counter::fail>(Rank(1));
      ADD_FAILURE();
    } catch (const shoal::RemoteError& error) {
      EXPECT_THAT(error.what(), HasSubstr("no such counter 0"));
    }
    a.fence();
  });
}

TEST(Failure, OfAnObjectThatIsGone_OrNeverMade_NamesIt) {
  EXPECT_THAT(object_error(2, 3,
                           [](World& world) {
                             auto a = std::make_unique<Counter>(world);
                             const Handle<Counter> handle = a->handle();
                             a.reset();
                             world.barrier();
                             if (world.rank() == 0) handle.async<&Counter::nothing>(Rank(1));
                             world.wait();
                           }),
              AllOf(HasSubstr("Counter::nothing was invoked by rank 0"), HasSubstr("object 1"),
                    HasSubstr("was destroyed")));
  EXPECT_THAT(object_error(2, 4,
                           [](World& world) {
                             if (world.rank() == 0) {
                               const Counter a(world);
                               a.async<&Counter::nothing>(Rank(1));
                               world.wait();
                             } else {
                               world.wait();
                             }
                           }),
              AllOf(HasSubstr("Counter::nothing from rank 0 waits for object 1"),
                    HasSubstr("not made yet")));
}

TEST(Failure, OfAnObjectOnATeamWithoutThisRank_IsRefused) {
  in_object_worlds(
      2,
      [](World& world) {
        Team team(world, {Rank(1)});
        if (team.is_member()) {
          const Counter counter(team);
        } else {
          EXPECT_THROW(const Counter counter(team), shoal::CheckError);
        }
        world.wait();
      },
      4);
}

class Victim;

/// Destroys the representative of another object.
class Destroyer : public DistributedObject<Destroyer> {
 public:
  explicit Destroyer(Team& team);
  ~Destroyer();
  void destroy();
  std::unique_ptr<Victim> victim;
};

class Victim : public DistributedObject<Victim> {
 public:
  explicit Victim(Team& team) : DistributedObject(team) {}
  void let_destroy(Handle<Destroyer> by) const {
    static_cast<void>(by.sync<&Destroyer::destroy>(Rank(1)));
  }
  void wait_for(Handle<Destroyer> by) const { sync<&Victim::let_destroy>(Rank(0), by); }
};

Destroyer::Destroyer(Team& team)
    : DistributedObject(team), victim(std::make_unique<Victim>(team)) {}
Destroyer::~Destroyer() = default;
void Destroyer::destroy() { victim.reset(); }

TEST(Failure, ARepresentativeThatAnotherObjectDestroys_WhileItsInvocationWaits_IsNamed) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const auto program = [](World& world) {
      const Destroyer destroyer(world);
      if (world.rank() == 0) {
        destroyer.victim->async<&Victim::wait_for>(Rank(1), destroyer.handle());
      }
      world.wait();
    };
    EXPECT_THAT(object_error(2, seed, program),
                AllOf(HasSubstr("Victim"), HasSubstr("was destroyed while an invocation of it")))
        << seed;
  }
}

// --- epochs: of the context, the object and the objects among the arguments, the latest one

class Oracle : public DistributedObject<Oracle> {
 public:
  explicit Oracle(Team& team) : DistributedObject(team) {}
  void ask(Rank from, int x) { async<&Oracle::answer>(from, x * x); }
  void ask_later(Rank from, int x) {  // by a task of its own
    static_cast<void>(team().async([this, from, x] { async<&Oracle::answer>(from, x * x); }));
  }
  void ask_about(Rank from, const Handle<Counter>& /*none yet*/) {
    async<&Oracle::look>(from, *counter);
  }
  void ask_for_count(Rank from) { counter->async<&Counter::plus>(from, 5); }
  void answer(int y) { answered.set_value(y); }
  void look(const Counter& it) { answered.set_value(it.value); }
  Promise<int> answered{std::string("the answer")};
  const Counter* counter = nullptr;
};

// Rank 0 is ahead, as it has made another object. The question comes from the epoch before.
TEST(Epoch, OfAnAnswer_IsThatOfTheQuestion) {
  in_object_worlds(3, [](World& world) {
    Oracle oracle(world);
    Future<int> answer = oracle.answered.future();
    if (world.rank() == 1) {
      shoal::sleep_for(std::chrono::milliseconds(20));
      oracle.async<&Oracle::ask>(Rank(0), world.rank(), 7);
      EXPECT_EQ(answer.get(), 49);
    } else if (world.rank() == 2) {
      shoal::sleep_for(std::chrono::milliseconds(20));
      oracle.unordered().async<&Oracle::ask_later>(Rank(0), world.rank(), 6);
      EXPECT_EQ(answer.get(), 36);
    }
    const Counter results(world);
    oracle.fence();
  });
}

TEST(Epoch, OfAnInvocationByAHandler_IsThatOfItsObject) {
  in_object_worlds(2, [](World& world) {
    Oracle oracle(world);
    Future<int> answer = oracle.answered.future();
    const auto ask = world.make_am([&](int x) { oracle.async<&Oracle::answer>(Rank(1), x); });
    if (world.rank() == 1) {
      shoal::sleep_for(std::chrono::milliseconds(20));
      ask.send(Rank(0), 7);
      EXPECT_EQ(answer.get(), 7);
    }
    const Counter results(world);
    oracle.fence();
  });
}

// The answer refers to the object that rank 1 has yet to make.
TEST(Epoch, OfAnArgumentOrATarget_IsWaitedFor) {
  for (const bool as_argument : {true, false}) {
    in_object_worlds(2, [as_argument](World& world) {
      Oracle oracle(world);
      Future<int> answer = oracle.answered.future();
      if (world.rank() == 1) {
        shoal::sleep_for(std::chrono::milliseconds(20));
        if (as_argument) {
          oracle.async<&Oracle::ask_about>(Rank(0), world.rank(), nullptr);
        } else {
          oracle.async<&Oracle::ask_for_count>(Rank(0), world.rank());
        }
        shoal::sleep_for(std::chrono::milliseconds(20));
      }
      Counter counter(world);
      counter.value = 40 + world.rank();
      oracle.counter = &counter;
      if (world.rank() == 1 && as_argument) EXPECT_EQ(answer.get(), 41);
      oracle.fence();
      if (world.rank() == 1 && !as_argument) EXPECT_EQ(counter.value, 46);
      oracle.fence();
    });
  }
}

TEST(Epoch, OfATask_IsThatOfTheCodeThatSubmittedIt) {
  in_object_worlds(2, [](World& world) {
    Oracle oracle(world);
    Counter counter(world);
    const Counter clock(world);
    Future<int> answer = oracle.answered.future();
    if (world.rank() == 0) {
      Promise<void> ahead(std::string("rank 0 is ahead"));
      Future<void> is_ahead = ahead.future();
      Future<void> early = world.async([&, waits = std::move(is_ahead)]() mutable {
        waits.get();
        oracle.async<&Oracle::answer>(Rank(1), 5);  // runs before rank 1 advances
      });
      clock.advance_epoch();
      ahead.set_value();
      early.get();
      world
          .async([&] {  // in a task of a task
            static_cast<void>(world.async([&] { counter.async<&Counter::plus>(Rank(1), 1); }));
          })
          .get();
    } else {
      EXPECT_EQ(answer.get(), 5);
      shoal::sleep_for(std::chrono::milliseconds(50));
      EXPECT_EQ(counter.value, 0);
      clock.advance_epoch();
    }
    world.wait();
    EXPECT_EQ(counter.value, world.rank().value());
  });
}

TEST(Epoch, OfAnInvocationWithoutAnOrder_HoldsNoOtherBack) {
  in_object_worlds(3, [](World& world) {
    Counter a(world);
    a.fence();
    if (world.rank() == 0) a.advance_epoch();
    if (world.rank() == 2) shoal::sleep_for(std::chrono::milliseconds(20));
    if (world.rank() != 1) a.unordered().async<&Counter::plus>(Rank(1), 1);
    if (world.rank() == 1) {
      while (a.value == 0) shoal::yield();
      EXPECT_EQ(a.value, 1);
    }
    if (world.rank() != 0) a.advance_epoch();
    a.fence();
    EXPECT_EQ(a.value, world.rank() == 1 ? 2 : 0);
  });
}

TEST(Failure, OfEpochsThatDiffer_IsNamed) {
  EXPECT_THAT(object_error(2, 4,
                           [](World& world) {
                             Counter a(world);
                             if (world.rank() == 0) {
                               a.advance_epoch();
                               a.async<&Counter::nothing>(Rank(1));
                             }
                             world.wait();
                           }),
              AllOf(HasSubstr("in epoch 2"), HasSubstr("this rank is in epoch 1")));
}

TEST(Failure, OfMisuse_IsRefused) {
  EXPECT_THAT(object_error(1, 1,
                           [](World& world) {
                             Counter a(world);
                             a.async<[](Counter& counter) { const Counter inner(counter.team()); }>(
                                 Rank(0));
                             a.fence();
                           }),
              AllOf(HasSubstr("Counter"), HasSubstr("was made in an invocation")));
  EXPECT_THAT(object_error(1, 1,
                           [](World& world) {
                             const Counter a(world);
                             a.async<&Counter::nothing>(Rank(3));
                           }),
              HasSubstr("3"));
  EXPECT_THAT(
      object_error(1, 1,
                   [](World& /*world*/) { Handle<Counter>().async<&Counter::nothing>(Rank(0)); }),
      HasSubstr("an empty handle was used"));
}

TEST(Failure, AnInvocationThatWaitsForEver_IsNamedWithItsObject) {
  EXPECT_THAT(object_error(2, 2,
                           [](World& world) {
                             Counter a(world);
                             if (world.rank() == 0) {
                               a.async<[](Counter& /*counter*/) {
                                 shoal::Promise<int> never;
                                 static_cast<void>(never.future().get());
                               }>(Rank(1));
                             }
                             a.fence();
                           }),
              AllOf(HasSubstr("of object 1, invoked by rank 0"), HasSubstr("waits in get()")));
}

// Figures 3.6 and 7.5 of the thesis.
TEST(Construct, MakesAnObjectOnATeamOfItsOwn_FromOneRank) {
  in_object_worlds(4, [](World& world) {
    if (world.rank() == 2) {
      const Handle<Counter> handle =
          shoal::construct<Counter>(world, {Rank(0), Rank(2), Rank(3)}).get();
      EXPECT_EQ(handle.sync<&Counter::rank_plus>(Rank(1), 10), 11);
      EXPECT_THAT(handle.call<&Counter::rank_plus>(all_ranks, 0).get(), ElementsAre(0, 1, 2));
      const Handle<Counter> second = shoal::construct<LoudCounter>(world, {Rank(2), Rank(1)}).get();
      EXPECT_EQ(second.sync<&Counter::kind>(Rank(1)), "loud counter");
      EXPECT_NE(handle, second);
      // Over the ranks of the team of an object, of which the caller is a member, or not.
      const Handle<Counter> third = shoal::construct<Counter>(handle, all_ranks).get();
      EXPECT_THAT(third.sync<&Counter::rank_plus>(all_ranks, 5), ElementsAre(5, 6, 7));
      const Handle<Counter> outer = shoal::construct<Counter>(world, {Rank(1), Rank(3)}).get();
      const Handle<Counter> fourth = shoal::construct<LoudCounter>(outer, {Rank(1)}).get();
      EXPECT_EQ(fourth.sync<&Counter::kind>(Rank(0)), "loud counter");
      EXPECT_EQ(fourth.address().home, 3);
      for (const Handle<Counter>& one : {fourth, outer, third, handle, second}) {
        shoal::ObjectDeleter<Counter>()(one);
      }
    }
    world.wait();
  });
}

TEST(Construct, AConstructorThatThrows_ReachesTheFuture) {
  class Bad : public DistributedObject<Bad> {
   public:
    explicit Bad(Team& team, int bad) : DistributedObject(team) {
      if (team.rank() >= bad) throw std::runtime_error("a bad part");
    }
  };
  in_object_worlds(3, [](World& world) {
    if (world.rank() == 0) {
      try {
        static_cast<void>(shoal::construct<Bad>(world, shoal::RankSet::range(Rank(0), 3), 1).get());
        ADD_FAILURE();
      } catch (const shoal::RemoteError& error) {
        EXPECT_THAT(error.what(), HasSubstr("a bad part"));
      }
    }
    world.wait();
  });
}

// Figures 3.11 and 3.12.
TEST(External, ThreadsInvoke_AndLibrariesAreCalledOnOneRankOfAProcess) {
  EXPECT_EQ(run_world(3, 2,
                      [](World& world) {
                        Counter a(world);
                        std::thread thread([&] {
                          const shoal::ExternalThread registered(world);
                          a.async<overload<int>(&Counter::add)>(Rank(0), 5);
                        });
                        thread.join();
                        a.fence();
                        const std::vector<Rank> callers = shoal::external_callers(world);
                        const std::optional<int> result = shoal::external_call(
                            world, [](int x) { return 2 * x; }, 21);
                        const bool is_caller = world.rank() == 0;
                        bool called = false;
                        EXPECT_EQ(shoal::external_call(
                                      world, [](bool& flag) { flag = true; }, std::ref(called)),
                                  is_caller);
                        EXPECT_EQ(called, is_caller);
                        const bool good = callers.size() == 1 && callers[0] == 0 &&
                                          result.has_value() == is_caller &&
                                          result.value_or(42) == 42 &&
                                          a.value == (world.rank() == 0 ? 15 : 0);
                        a.fence();
                        return good ? 0 : 1;
                      }),
            0);
}

TEST(External, AThreadInASimulatedWorld_IsRefused) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    std::string text;
    std::string of_hold;
    const std::string error = object_error(2, seed, [&](World& world) {
      Counter a(world);
      if (world.rank() == 1) {
        std::thread([&] {
          text = refusal_of([&] {
            const shoal::ExternalThread registered(world);
            a.async<overload<int>(&Counter::add)>(Rank(0), 5);
          });
          of_hold = refusal_of([&] { const shoal::Hold hold = world.hold(); });
        }).join();
      }
      const shoal::Hold of_main = world.hold();
      a.advance_epoch();
    });
    EXPECT_EQ(error, "");
    EXPECT_THAT(text, AllOf(HasSubstr("ExternalThread on a thread of the program, on rank 1"),
                            HasSubstr("run without --sim")));
    EXPECT_THAT(of_hold, HasSubstr("hold() on a thread of the program, on rank 1"));
  }
}

TEST(External, ThreadsTakePartInFences) {
  class Sums : public DistributedObject<Sums> {
   public:
    explicit Sums(Team& team) : DistributedObject(team) {}
    void add_around(int n, int hops) {
      sum += n;
      if (hops > 0) async<&Sums::add_around>(Rank((rank() + 1) % 3), n, hops - 1);
    }
    int sum = 0;
  };
  EXPECT_EQ(run_world(3, 2,
                      [](World& world) {
                        Sums a(world);
                        std::atomic<int> seen{0};
                        std::latch ready(2);
                        std::vector<std::thread> threads;
                        for (int t = 0; t < 2; ++t) {
                          threads.emplace_back([&a, &world, &seen, &ready] {
                            shoal::ExternalThread registered(world);
                            ready.count_down();
                            a.async<&Sums::add_around>(Rank(0), 1, 30);
                            registered.fence();
                            seen += a.sum;  // nothing runs before the second fence
                            registered.fence();
                          });
                        }
                        ready.wait();
                        a.fence();
                        const int sum = a.sum;
                        a.fence();
                        for (std::thread& thread : threads) thread.join();
                        const int total = world.allreduce(sum, std::plus<>());
                        return total == 3 * 2 * 31 && seen == 2 * sum ? 0 : 1;
                      }),
            0);
}

/// An invocation that does nothing.
class Nothing final : public shoal::object::Invocation {
 public:
  explicit Nothing(std::uint64_t context, std::uint32_t epoch = 0)
      : Invocation({context, 1, epoch}, Rank(0), 1, shoal::object::object_class<Nothing>) {}
  void run(shoal::object::Objects& /*objects*/, void* /*representative*/) override {}
  void miss(shoal::object::Objects& /*objects*/, const std::string& /*text*/) override {}
  [[nodiscard]] std::string method() const override { return "nothing"; }
};

/// Contexts in the order in which they are taken, each for up to 16 invocations.
std::vector<std::uint64_t> order_of(bool draining, std::size_t of_first) {
  shoal::object::RunQueue queue;
  queue.set_draining(draining);
  for (const auto& [context, count] :
       {std::pair<std::uint64_t, std::size_t>{1, of_first}, {2, 20}}) {
    for (std::size_t i = 0; i < count; ++i) queue.push(std::make_unique<Nothing>(context));
  }
  std::vector<std::uint64_t> order;
  for (;;) {
    auto taken = queue.take([](const shoal::object::Invocation& /*one*/) { return true; });
    if (taken.list.empty()) return order;
    order.push_back(taken.context->id);
    queue.done(*taken.context);
  }
}

// Section 8.5.1 of the thesis.
TEST(RunQueue, ContextsTakeTurns_AndAreDrainedUnderPressure) {
  EXPECT_THAT(order_of(false, 40), ElementsAre(1, 2, 1, 2, 1));
  EXPECT_THAT(order_of(true, 40), ElementsAre(1, 1, 1, 2, 2));
  const std::vector<std::uint64_t> pressed = order_of(false, 300);
  EXPECT_EQ(pressed[1], 1U);  // more than 256 wait
  EXPECT_EQ(pressed.back(), 1U);
}

TEST(RunQueue, InvocationsWithoutAContext_WaitByEpoch) {
  using shoal::object::Invocation;
  shoal::object::RunQueue queue;
  for (const std::uint32_t epoch : {3U, 1U, 2U, 3U, 1U}) {
    queue.push(std::make_unique<Nothing>(0, epoch));
  }
  std::vector<std::uint32_t> epochs;
  for (const std::uint32_t now : {1U, 2U, 3U}) {
    queue.retry(now);
    for (;;) {
      auto taken = queue.take([now](const Invocation& one) { return one.target().epoch <= now; });
      if (taken.list.empty()) break;
      while (!taken.list.empty()) epochs.push_back(taken.list.pop()->target().epoch);
      queue.done(*taken.context);
    }
    EXPECT_EQ(queue.size(), queue.blocked_count());
    EXPECT_EQ(queue.size(), now == 1 ? 3U : now == 2 ? 2U : 0U);
  }
  EXPECT_THAT(epochs, ElementsAre(1, 1, 2, 3, 3));
}

/// Its invocations arrive together: they are kept in their packet.
class Gate : public DistributedObject<Gate> {
 public:
  explicit Gate(Team& team) : DistributedObject(team) {}
  void pass(int index) {
    if (index == 0) opened_.get();
    passed.push_back(index);
    if (index == 7) open();
  }
  void open() { open_.set_value(); }
  void leave() { delete this; }
  std::vector<int> passed;

 private:
  shoal::Promise<void> open_{std::string("a gate")};
  Future<void> opened_ = open_.future();
};

TEST(Turns, OfInvocationsThatArriveTogether) {
  in_object_worlds(2, [](World& world) {
    Gate free(world);
    Gate ordered(world);
    auto* const gone = new Gate(world);
    const Handle<Gate> handle = *gone;
    if (world.rank() == 0) {
      for (int i = 0; i < 8; ++i) free.unordered().async<&Gate::pass>(Rank(1), i);
      for (int i = 0; i < 7; ++i) ordered.async<&Gate::pass>(Rank(1), i);
      ordered.unordered().async<&Gate::open>(Rank(1));
      for (int i = 0; i < 5; ++i) handle.try_async<&Gate::leave>(all_ranks);
    }
    world.wait();
    EXPECT_EQ(handle.find(), nullptr);
    if (world.rank() == 0) return;
    EXPECT_THAT(free.passed, ElementsAre(1, 2, 3, 4, 5, 6, 7, 0));
    EXPECT_THAT(ordered.passed, ElementsAre(0, 1, 2, 3, 4, 5, 6));
  });
}

/// Arguments that own memory, and views.
class Notes : public DistributedObject<Notes> {
 public:
  explicit Notes(Team& team) : DistributedObject(team) {}
  void note(std::string text, std::span<const int> numbers) {
    if (text == "bad") throw std::runtime_error("a bad note");
    texts.push_back(std::move(text));
    sum = std::accumulate(numbers.begin(), numbers.end(), sum);
  }
  void count(int by) { counted += by; }
  void nothing() { ++counted; }
  [[nodiscard]] std::string read(std::size_t index) const { return texts.at(index); }
  std::vector<std::string> texts;
  int sum = 0;
  int counted = 0;
};

/// Methods that return views of what the representative has.
class Shelf : public DistributedObject<Shelf> {
 public:
  explicit Shelf(Team& team) : DistributedObject(team) {}
  [[nodiscard]] std::span<const int> numbers() const { return numbers_; }
  [[nodiscard]] std::string_view label() const { return label_; }

 private:
  std::vector<int> numbers_{rank().value(), 7};
  std::string label_ = "shelf " + std::to_string(rank().value());
};

TEST(Results, ThatAreViews_AreCopiedWithTheirElements) {
  in_object_worlds(2, [](World& world) {
    Shelf shelf(world);
    const Rank other(1 - world.rank());
    EXPECT_THAT(shelf.sync<&Shelf::numbers>(other), ElementsAre(other.value(), 7));
    EXPECT_EQ(shelf.sync<&Shelf::label>(other), "shelf " + std::to_string(other.value()));
    shelf.fence();
  });
}

// Its answers cannot come over the team, which it makes only then.
TEST(Results, AMemberThatHasNotMadeTheTeam_GetsThem) {
  in_object_worlds(3, [](World& world) {
    const std::vector<Rank> all{Rank(0), Rank(1), Rank(2)};
    shoal::Promise<Handle<Shelf>> given(world, "a handle");
    Future<Handle<Shelf>> handle = given.future();
    const auto give = world.make_am([&](Handle<Shelf> shelf) { given.set_value(shelf); });
    std::optional<Team> team;
    std::optional<Shelf> shelf;
    if (world.rank() == 1) {
      const Handle<Shelf> there = handle.get();
      EXPECT_EQ(there.sync<&Shelf::label>(Rank(2)), "shelf 2");
      EXPECT_THROW(
          static_cast<void>(
              there.sync<[](Shelf&) -> int { throw std::runtime_error("no number"); }>(Rank(0))),
          shoal::RemoteError);
    }
    team.emplace(world, all, "shelves");
    shelf.emplace(*team);
    if (world.rank() == 0) give.send(Rank(1), shelf->handle());
    shelf->fence();
    shelf.reset();
    team.reset();
    world.wait();
  });
}

TEST(TryAsync, ByARankWhoseTeamHasEnded_IsIgnored) {
  in_object_worlds(2, [](World& world) {
    Handle<Shelf> handle;
    {
      Team first(world, {Rank(0)}, "first");
      std::optional<Shelf> shelf;
      if (first.is_member()) handle = shelf.emplace(first).handle();
    }
    if (world.rank() == 0) handle.try_async<&Shelf::numbers>(Rank(0));
    world.wait();
  });
}

TEST(Turns, OfInvocationsThatArriveTogether_KeepTheirArguments) {
  in_object_worlds(2, [](World& world) {
    constexpr int kCount = 40;  // more than a context may run before the next one
    Notes notes(world);
    auto counted = bind<&Notes::count>(notes, Rank(1), 2);
    if (world.rank() == 0) {
      for (int i = 0; i < kCount; ++i) {
        const std::vector<int> numbers(static_cast<std::size_t>(i), i);
        notes.async<&Notes::note>(Rank(1), std::string(100, 'a') + std::to_string(i),
                                  std::span<const int>(numbers));
      }
      for (int i = 0; i < kCount; ++i) notes.async<&Notes::nothing>(Rank(1));
      for (int i = 0; i < kCount; ++i) counted();
      std::vector<Future<std::string>> read;
      for (std::size_t i = 0; i <= kCount; ++i)
        read.push_back(notes.call<&Notes::read>(Rank(1), i));
      for (int i = 0; i < kCount; ++i) {
        EXPECT_EQ(read[static_cast<std::size_t>(i)].get(),
                  std::string(100, 'a') + std::to_string(i));
      }
      EXPECT_THROW(static_cast<void>(read.back().get()), shoal::RemoteError);
    }
    world.wait();
    if (world.rank() == 0) return;
    EXPECT_EQ(notes.texts.size(), std::size_t{kCount});
    EXPECT_EQ(notes.sum, 39 * 40 * 79 / 6);
    EXPECT_EQ(notes.counted, 3 * kCount);
  });
}

// The ones behind it are dropped, with their arguments.
TEST(Turns, OfInvocationsThatArriveTogether_OneThrows) {
  in_object_worlds(2, [](World& world) {
    Notes notes(world);
    if (world.rank() == 0) {
      for (int i = 0; i < 30; ++i) {
        notes.async<&Notes::note>(Rank(1), i == 20 ? "bad" : std::string(100, 'a'),
                                  std::span<const int>());
      }
    }
    EXPECT_THROW(world.wait(), shoal::TaskError);
    EXPECT_LE(notes.texts.size(), 20U);
  });
}

TEST(Turns, InvocationsAndTheirSectionNeverOverlap_OnThreads) {
  class Register : public DistributedObject<Register> {
   public:
    explicit Register(Team& team) : DistributedObject(team) {}
    void bump() { ++value; }  // a data race, if two ran at a time
    long value = 0;
  };
  EXPECT_EQ(run_world(3, 3,
                      [](World& world) {
                        Register a(world);
                        for (int i = 0; i < 2000; ++i) {
                          a.async<&Register::bump>(Rank(i % 3));
                          ++a.value;
                          if (i % 100 == 0) a.sync<&Register::bump>(Rank((world.rank() + 1) % 3));
                        }
                        a.fence();
                        const long sum = world.allreduce(a.value, std::plus<>());
                        return sum == 3 * (2000 + 2000 + 20) ? 0 : 1;
                      }),
            0);
}

// A turn is that of a rank: objects of nested teams take part in it.
TEST(Turns, OfTeamsOnOneRank_NeverOverlap_OnThreads) {
  class Register : public DistributedObject<Register> {
   public:
    Register(Team& team, std::array<long, 2>& counts) : DistributedObject(team), counts_(counts) {}
    void bump() {  // loses updates, if two ran at a time
      const long before = counts_[0];
      for (volatile int i = 0; i < 60; i = i + 1) {
      }
      counts_[0] = before + 1;
    }
    void visit(Rank next) {
      bump();
      sync<&Register::bump>(next);
      bump();
    }

   private:
    std::array<long, 2>& counts_;
  };
  constexpr int kCount = 1500;
  EXPECT_EQ(run_world(2, 3,
                      [](World& world) {
                        std::array<long, 2> counts{};
                        Register outer(world, counts);
                        Team half(world, std::vector<Rank>{Rank(0), Rank(1)}, "all of them");
                        Team deeper(half, std::vector<Rank>{Rank(1), Rank(0)}, "turned round");
                        Register inner(half, counts);
                        Register innermost(deeper, counts);
                        world.barrier();
                        for (int i = 0; i < kCount; ++i) {
                          const Rank other(1 - world.rank().value());
                          outer.async<&Register::bump>(other);
                          inner.async<&Register::bump>(other);
                          innermost.async<&Register::bump>(world.rank());  // the same rank
                          if (i % 50 == 0) inner.async<&Register::visit>(other, world.rank());
                          if (i % 50 == 1) outer.async<&Register::visit>(other, world.rank());
                          outer.bump();
                        }
                        world.wait();
                        const long sum = world.allreduce(counts[0], std::plus<>());
                        return sum == 2L * (4 * kCount + 2 * 3 * (kCount / 50)) ? 0 : 1;
                      }),
            0);
}

// Calls in both directions between nested teams: each invocation waits for one of another team.
TEST(Turns, OfNestedTeams_AreGivenUpInWaits) {
  class Node : public DistributedObject<Node> {
   public:
    explicit Node(Team& team) : DistributedObject(team) {}
    // NOLINTNEXTLINE(misc-no-recursion)
    int down(const Handle<Node>& other, const Handle<Node>& self, int depth) {
      if (depth == 0) return 1;
      const Rank next((rank().value() + 1) % team().size());
      return 1 + other.sync<&Node::down>(next, self, other, depth - 1);
    }
  };
  in_object_worlds(3, [](World& world) {
    Node outer(world);
    Team team(world, std::vector<Rank>{Rank(2), Rank(0), Rank(1)}, "inner");
    Node inner(team);
    const Rank next((world.rank() + 1) % world.size());
    Future<int> first = outer.call<&Node::down>(next, inner.handle(), outer.handle(), 7);
    Future<int> second =
        inner.call<&Node::down>(Rank(world.rank().value()), outer.handle(), inner.handle(), 6);
    EXPECT_EQ(first.get(), 8);
    EXPECT_EQ(second.get(), 7);
    world.wait();
  });
}

// Two sections of a rank that poll, each for an invocation of the other's object.
TEST(Turns, OfSectionsThatPoll_LetInvocationsRun) {
  class Flag : public DistributedObject<Flag> {
   public:
    explicit Flag(Team& team) : DistributedObject(team) {}
    void raise() { ++raised; }
    int raised = 0;
  };
  in_object_worlds(2, [](World& world) {
    Flag outer(world);
    Team team(world, std::vector<Rank>{Rank(0), Rank(1)}, "inner");
    Future<void> polled = team.async([&] {
      Flag inner(team);
      outer.async<&Flag::raise>(Rank(1 - world.rank().value()));
      inner.async<&Flag::raise>(Rank(1 - team.rank().value()));
      while (inner.raised == 0 || outer.raised == 0) shoal::yield();
    });
    while (outer.raised == 0) shoal::yield();
    while (!polled.is_ready()) shoal::yield();
    world.wait();
  });
}

// The main function polls, and has the turn whenever it goes on. An invocation that waits has to
// come back, too, before the failure can be told.
TEST(Turns, OfAWorldThatFails_AreGivenUp) {
  for (const bool sleeps : {false, true}) {
    for (std::uint64_t seed = 0; seed < shoal::testing::kObjectSeeds; ++seed) {
      const std::string error = object_error(2, seed, [&](World& world) {
        class Waiter : public DistributedObject<Waiter> {
         public:
          explicit Waiter(Team& team) : DistributedObject(team) {}
          void wait() { opened_.get(); }
          void fail() const { throw std::runtime_error("bad apple"); }

         private:
          shoal::Promise<void> open_{std::string("a gate")};
          Future<void> opened_ = open_.future();
        };
        Waiter a(world);
        for (int rank = 0; rank < 2; ++rank) a.unordered().async<&Waiter::wait>(Rank(rank));
        if (world.rank() == 1) a.async<&Waiter::fail>(Rank(1));
        for (;;) {
          if (sleeps) {
            shoal::sleep_for(std::chrono::milliseconds(1));
          } else {
            shoal::yield();
          }
        }
      });
      ASSERT_THAT(error, HasSubstr("bad apple")) << "seed " << seed;
    }
  }
}

}  // namespace object_invocation_test
