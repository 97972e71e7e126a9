// Distributions, distributed arrays and maps, algorithms, tunnels, and counted copies.

#include "support/object_worlds.hpp"
#include "support/refusal.hpp"
#include "support/run_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace object_containers_test {

using shoal::all_ranks;
using shoal::any_rank;
using shoal::DistributedArray;
using shoal::DistributedMap;
using shoal::DistributedObject;
using shoal::Distribution;
using shoal::Immutable;
using shoal::Rank;
using shoal::Team;
using shoal::World;
using shoal::testing::in_object_worlds;
using shoal::testing::refusal_of;
using testing::ElementsAre;

void expect_inverse(const Distribution& distribution) {
  std::size_t total = 0;
  for (int rank = 0; rank < distribution.ranks(); ++rank) {
    for (std::size_t place = 0; place < distribution.count(Rank(rank)); ++place) {
      const std::size_t index = distribution.index(Rank(rank), place);
      EXPECT_EQ(distribution.owner(index), rank);
      EXPECT_EQ(distribution.place(index), place);
      ++total;
    }
  }
  EXPECT_EQ(total, distribution.size());
  for (std::size_t index = 0; index < distribution.size(); ++index) {
    const std::size_t run = distribution.run(index);
    for (std::size_t i = 0; i < run; ++i) {
      EXPECT_EQ(distribution.owner(index + i), distribution.owner(index));
      EXPECT_EQ(distribution.place(index + i), distribution.place(index) + i);
    }
    const std::size_t next = index + run;
    EXPECT_TRUE(next == distribution.size() || distribution.ranks() == 1 ||
                distribution.owner(next) != distribution.owner(index));
  }
}

TEST(Distribution, OwnersAndPlacesAreInverse) {
  for (std::size_t size = 0; size < 40; ++size) {
    for (int ranks = 1; ranks < 8; ++ranks) {
      expect_inverse(Distribution::balanced(size, ranks));
      expect_inverse(Distribution::blocked(size, ranks));
      for (std::size_t block = 1; block < 6; ++block) {
        expect_inverse(Distribution::block_cyclic(size, ranks, block));
      }
      std::vector<Rank> owners;
      for (std::size_t i = 0; i < size; ++i) {
        owners.emplace_back(static_cast<int>(i * 7 + i / 3) % ranks);
      }
      expect_inverse(Distribution::arbitrary(owners, ranks));
    }
  }
  EXPECT_THROW(static_cast<void>(Distribution::balanced(3, 2).owner(3)), shoal::CheckError);
  EXPECT_THROW(static_cast<void>(Distribution::block_cyclic(3, 2, 0)), shoal::CheckError);
}

TEST(DistributedArray, ElementsThatThereAreNot_AreNamed) {
  in_object_worlds(2, [](World& world) {
    DistributedArray<int> array(world, 10);
    const std::string text = "object 1 (shoal::DistributedArray<int>), on rank " +
                             std::to_string(world.rank().value()) +
                             ": element 10 is out of range: there are elements 0 to 9; choose one "
                             "of these";
    EXPECT_EQ(refusal_of([&] { static_cast<void>(array.get(10)); }), text);
    EXPECT_EQ(refusal_of([&] { array.set(10, 1); }), text);
    EXPECT_EQ(refusal_of([&] { array.apply<[](int& element) { ++element; }>(10); }), text);
    EXPECT_EQ(refusal_of([&] {
                static_cast<void>(array.apply_call<[](const int& element) { return element; }>(10));
              }),
              text);
    EXPECT_EQ(refusal_of([&] { static_cast<void>(array.get_range(8, 3)); }), text);
    array.fence();
    const DistributedArray<int> none(world, 0);
    EXPECT_THAT(refusal_of([&] { static_cast<void>(none.get(0)); }),
                testing::EndsWith("element 0 is out of range: there are none"));
  });
}

TEST(DistributedArray, ElementsAndRanges) {
  in_object_worlds(3, [](World& world) {
    for (const Distribution& distribution :
         {Distribution::balanced(20, 3), Distribution::block_cyclic(20, 3, 4)}) {
      DistributedArray<int> array(world, distribution);
      if (world.rank() == 1) {
        std::vector<int> values(20);
        for (int i = 0; i < 20; ++i) values[static_cast<std::size_t>(i)] = i;
        array.set_range(0, values);
        array.set(7, 70);
        array.apply<[](int& element, int more) { element += more; }>(7, 1);
        EXPECT_EQ(array.get(7).get(), 71);
        EXPECT_EQ(array.apply_call<[](const int& element) { return 2 * element; }>(19).get(), 38);
        EXPECT_THAT(array.get_range(5, 4).get(), ElementsAre(5, 6, 71, 8));
      }
      array.fence();
      EXPECT_EQ(shoal::map_reduce(
                    array, [](int element) { return element; }, std::plus<>()),
                190 + 64);
      EXPECT_EQ(shoal::inner_product(array, array), 2470 - 49 + 71 * 71);
      EXPECT_EQ(shoal::min_element(array), 0);
      shoal::for_each(array, [](int& element) { element = -element; });
      EXPECT_EQ(shoal::min_element(array), -71);
    }
  });
}

TEST(DistributedArray, IsSorted) {
  in_object_worlds(4, [](World& world) {
    DistributedArray<int> array(world, 50);
    for (std::size_t i = 0; i < array.local().size(); ++i) {
      array.local()[i] = static_cast<int>(array.index_of(i) * 37 % 23);
    }
    shoal::sort(array);
    if (world.rank() == 0) {
      const std::vector<int> all = array.get_range(0, 50).get();
      EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
    }
    array.fence();
  });
}

TEST(ComposedArray, AlgorithmsRunNested) {
  in_object_worlds(4, [](World& world) {
    // Inner array 0 on all ranks, 1 on ranks 1 and 2, 2 (empty) on rank 3, 3 on ranks 3 and 0.
    const std::vector<std::vector<Rank>> ranks{
        {Rank(0), Rank(1), Rank(2), Rank(3)}, {Rank(1), Rank(2)}, {Rank(3)}, {Rank(3), Rank(0)}};
    DistributedArray<DistributedArray<int>> array(world, {10, 5, 0, 7},
                                                  [&](std::size_t i) { return ranks[i]; });
    EXPECT_EQ(array.size(), 4U);
    EXPECT_EQ(array.size(3), 7U);
    EXPECT_EQ(array.is_member(1), world.rank() == 1 || world.rank() == 2);
    shoal::for_each(array, [](int& element) { element = 1; });
    if (world.rank() == 2) {
      array.set(3, 0, 50);  // not a member
      array.apply<[](int& element, int more) { element += more; }>(3, 0, 7);
      array.set(0, 9, -3);
      EXPECT_EQ(array.get(3, 0).get(), 57);
      EXPECT_EQ(array.owner(3, 0), 3);
      EXPECT_THROW(static_cast<void>(array.inner(2)), shoal::CheckError);
      EXPECT_THROW(array.set(1, 5, 0), shoal::CheckError);
      EXPECT_THROW(array.set(4, 0, 0), shoal::CheckError);
    }
    array.fence();
    EXPECT_EQ(shoal::min_element(array), -3);
    EXPECT_EQ(shoal::map_reduce(
                  array, [](int element) { return element; }, std::plus<>()),
              22 + 56 - 4);
    // A nested algorithm, on the members of each inner array.
    const auto least_of = [](const DistributedArray<int>& inner) {
      return shoal::min_element(inner).value_or(100);
    };
    EXPECT_EQ(shoal::map_reduce(array, least_of, std::plus<>()), -3 + 1 + 100 + 1);
    EXPECT_EQ(shoal::inner_product(array, array), 20 + 57 * 57 + 9);
    shoal::for_each(array, [](DistributedArray<int>& inner) { shoal::sort(inner); });
    EXPECT_EQ(array.get(0, 0).get(), -3);
    EXPECT_EQ(array.get(3, 6).get(), 57);
    array.fence();
    shoal::for_each(array, [](int& element) { element = -element; });
    shoal::sort(array);
    EXPECT_EQ(array.get(3, 0).get(), -57);
    array.fence();
  });
}

TEST(ComposedArray, ItsExample) {
  in_object_worlds(3, [](World& world) {
    const auto ranks_of = [](std::size_t i) {
      return i == 0 ? std::vector<Rank>{Rank(0)} : std::vector<Rank>{Rank(0), Rank(2), Rank(1)};
    };
    // [composed]
    shoal::DistributedArray<shoal::DistributedArray<int>> array(world, {10, 2000, 70}, ranks_of);
    if (world.rank() == 0) array.set(1, 1999, -5);  // any rank may
    array.fence();
    const std::optional<int> least = shoal::min_element(array);
    shoal::for_each(array, [](auto& inner) { shoal::sort(inner); });
    // [/composed]
    EXPECT_EQ(least, -5);
    EXPECT_EQ(array.get(1, 0).get(), -5);
    array.fence();
  });
}

constexpr auto kBump = [](long& element) {
  const long before = element;
  for (volatile int i = 0; i < 60; i = i + 1) {
  }
  element = before + 1;
};

// An element is reached through the outer array and through the inner one.
TEST(ComposedArray, AnElementLosesNoUpdate_OnThreads) {
  constexpr int kCount = 3000;
  EXPECT_EQ(shoal::testing::run_world(2, 3,
                                      [](World& world) {
                                        shoal::ComposedArray<long> array(world, {4, 4});
                                        world.barrier();
                                        for (int i = 0; i < kCount; ++i) {
                                          array.apply<kBump>(0, 0);
                                          array.inner(0).apply<kBump>(0);
                                        }
                                        world.wait();
                                        const long got = array.get(0, 0).get();
                                        world.wait();
                                        return got == 2L * kCount * world.size() ? 0 : 1;
                                      }),
            0);
}

TEST(DistributedMap, CountsReducesAndVisits) {
  in_object_worlds(3, [](World& world) {
    DistributedMap<std::string, int> map(world);
    for (const char* word : {"a", "b", "a", "c"}) map.count(word);
    map.insert("only " + std::to_string(world.rank()), 5);
    map.fence();
    EXPECT_EQ(map.find("a").get(), 6);
    EXPECT_EQ(map.find("none").get(), std::nullopt);
    EXPECT_EQ(map.size(), 6U);
    struct Larger {
      int operator()(int x, int y) const { return std::max(x, y); }
    };
    map.reduce<Larger>("most", 10 * world.rank());
    map.visit<[](const std::string&, int& value, int more) { value += more; }>("b", 100);
    map.visit<[](const std::string&, int& value) { value = -1; }>("none");
    map.fence();
    auto sum = map.apply_call<[](int& value, int more) { return value += more; }>("x", 2);
    EXPECT_EQ(sum.get() % 2, 0);
    map.fence();
    EXPECT_EQ(map.find("x").get(), 2 * world.size());
    EXPECT_EQ(map.find("most").get(), 20);
    EXPECT_EQ(map.find("b").get(), 303);
    map.erase("a");
    map.fence();
    EXPECT_EQ(map.find("a").get(), std::nullopt);
    EXPECT_EQ(map.find("none").get(), std::nullopt);
    map.fence();
  });
}

struct Sink : DistributedObject<Sink> {
  explicit Sink(Team& team) : DistributedObject(team) {}
  void put(const std::string& name, int index, int value) {
    text += name + std::to_string(index) + "=" + std::to_string(value) + " ";
    ++count;
  }
  std::string text;
  int count = 0;
};

TEST(Tunnel, FixesTargetMethodAndArguments) {
  in_object_worlds(2, [](World& world) {
    Sink sink(world);
    if (world.rank() == 0) {
      auto to_one = shoal::bind<&Sink::put>(sink, Rank(1), std::string("x"));
      for (int i = 0; i < 3; ++i) to_one(i, 10 * i);
    }
    sink.fence();
    if (world.rank() == 1) {
      EXPECT_EQ(sink.text, "x0=0 x1=10 x2=20 ");
    }
    {
      auto to_any = shoal::bind<&Sink::put>(sink.handle(), any_rank);
      to_any(Rank(0), "y", 1, 1);
      sink.fence();
      to_any(Rank(0), "z", 1, 1);  // in another epoch
    }
    sink.fence();
    EXPECT_EQ(sink.count, world.rank() == 0 ? 4 : 3);
  });
}

/// Counts copies of itself; the simulated ranks of one process share the counter.
struct Counted {
  Counted() = default;
  Counted(const Counted& other) : values(other.values) { ++copies; }
  Counted(Counted&&) noexcept = default;
  Counted& operator=(const Counted&) = delete;
  Counted& operator=(Counted&&) noexcept = default;
  ~Counted() = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(values);
  }
  std::vector<int> values = std::vector<int>(100, 1);
  static inline std::atomic<int> copies{0};
};

struct Taker : DistributedObject<Taker> {
  explicit Taker(Team& team) : DistributedObject(team) {}
  void take(Counted value) { sum += value.values.size(); }
  void look(const Counted& value) { sum += value.values.size(); }
  void share(const Immutable<Counted>& value) { sum += value->values.size(); }
  // NOLINTNEXTLINE(readability-convert-member-functions-to-static): is invoked
  Counted give() { return {}; }
  void nothing() {}
  std::size_t sum = 0;
};

/// Copies that `invoke` makes in a process with two ranks.
template <class F>
int copies_of(F invoke) {
  Counted::copies = 0;
  EXPECT_EQ(shoal::testing::run_turns({.seed = 6, .ranks = 2, .workers = 1},
                                      [&](World& world) {
                                        Taker taker(world);
                                        if (world.rank() == 0) invoke(taker);
                                        taker.fence();
                                        return 0;
                                      })
                .errors[0],
            nullptr);
  return Counted::copies;
}

TEST(Copies, AreElidedWithinAProcess) {
  EXPECT_EQ(copies_of([](Taker& taker) {
              const Counted value;
              taker.async<&Taker::take>(Rank(1), value);
            }),
            1);
  EXPECT_EQ(copies_of([](Taker& taker) { taker.async<&Taker::take>(Rank(1), Counted()); }), 0);
  EXPECT_EQ(copies_of([](Taker& taker) { taker.async<&Taker::look>(Rank(1), Counted()); }), 0);
  EXPECT_EQ(copies_of([](Taker& taker) {
              taker.async<&Taker::share>(all_ranks, shoal::make_immutable<Counted>());
            }),
            0);
  EXPECT_EQ(copies_of([](Taker& taker) {
              const Counted value;
              taker.async<&Taker::share>(all_ranks, shoal::immutable(value));
              taker.call<&Taker::nothing>(all_ranks).get();  // until here, value must not change
            }),
            0);
  EXPECT_EQ(copies_of([](Taker& taker) {
              EXPECT_EQ(taker.sync<&Taker::give>(Rank(1)).values.size(), 100U);
            }),
            0);
}

}  // namespace object_containers_test
