// Rows of table 3.1 of the STAPL-RTS thesis, handles, and what goes wrong.

#include "support/object_worlds.hpp"
#include "support/run_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using shoal::all_ranks;
using shoal::const_overload;
using shoal::DistributedObject;
using shoal::Future;
using shoal::Futures;
using shoal::Handle;
using shoal::overload;
using shoal::Rank;
using shoal::Team;
using shoal::World;
using shoal::testing::in_object_worlds;
using shoal::testing::object_error;
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
      Futures<int> all = a.call_all<&Counter::rank_plus>(10);
      EXPECT_EQ(all.size(), 4U);
      all.wait(1);
      EXPECT_TRUE(all.is_ready(1));
      EXPECT_EQ(all.get(1), 11);
      EXPECT_EQ(all.get(3), 13);
      EXPECT_THAT(a.call_all<const_overload<>(&Counter::get)>().get(), ElementsAre(3, 3, 3, 3));
      EXPECT_EQ(a.reduce<&Counter::rank_plus>(std::plus<>(), 1).get(), 10);
      a.call_all<&Counter::nothing>().get();
      EXPECT_EQ(a.call_all<&Counter::rank_plus>(0)
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
  static_assert(sizeof(Handle<Counter>) == 16);
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
      EXPECT_THAT(handle.call_all<&Counter::rank_plus>(0).get(), ElementsAre(0, 1, 2));
      const Handle<Counter> second = shoal::construct<LoudCounter>(world, {Rank(2), Rank(1)}).get();
      EXPECT_EQ(second.sync<&Counter::kind>(Rank(1)), "loud counter");
      EXPECT_NE(handle, second);
      shoal::ObjectDeleter<Counter>()(handle);
      shoal::ObjectDeleter<Counter>()(second);
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
                          const shoal::external_thread registered(world);
                          a.async<overload<int>(&Counter::add)>(Rank(0), 5);
                        });
                        thread.join();
                        a.fence();
                        const std::vector<Rank> callers = shoal::external_callers(world);
                        const std::optional<int> result = shoal::external_call(
                            world, [](int x) { return 2 * x; }, 21);
                        const bool is_caller = world.rank() == 0;
                        const bool good = callers.size() == 1 && callers[0] == 0 &&
                                          result.has_value() == is_caller &&
                                          result.value_or(42) == 42 &&
                                          a.value == (world.rank() == 0 ? 15 : 0);
                        a.fence();
                        return good ? 0 : 1;
                      }),
            0);
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

}  // namespace
