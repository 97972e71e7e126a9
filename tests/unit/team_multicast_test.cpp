// Multicasts: each recipient handles the message once, with its arguments and its sender, whatever
// the tree; and the urgent lane.

#include <shoal/shoal.hpp>

#include "support/run_world.hpp"
#include "support/sizes.hpp"
#include "support/turn_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace team_multicast_test {

using namespace shoal;
using shoal::testing::error_of;
using shoal::testing::run_turns;
using shoal::testing::run_world;
using shoal::testing::sized;
using shoal::testing::sized_on_one_thread;
using team::Branch;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr TreeShape kShapes[] = {TreeShape::automatic, TreeShape::flat,  TreeShape::chain,
                                 TreeShape::binomial,  TreeShape::k_ary, TreeShape::delegate};

std::vector<Rank> ranks_to(int count) {
  std::vector<Rank> ranks;
  for (int i = 0; i < count; ++i) ranks.emplace_back(i);
  return ranks;
}

// --- trees

/// Depth at which each rank is reached; each exactly once.
void walk(const MulticastTree& tree, std::span<const Rank> ranks, int depth,
          std::map<int, int>& depths) {
  for (const Branch& branch : team::branches_of(tree, ranks)) {
    EXPECT_TRUE(depths.emplace(branch.child.value(), depth).second);
    // As the child gets them.
    const std::vector<Rank> rest = team::expand(team::compress(branch.rest));
    ASSERT_TRUE(std::ranges::equal(rest, branch.rest));
    walk(team::below(tree), rest, depth + 1, depths);
  }
}

TEST(Trees, ReachEachRankOnce_TheFirstOnesSoonest) {
  std::mt19937 random(3);
  for (int count = 0; count < 150; ++count) {
    std::vector<Rank> ranks = ranks_to(count);
    if (count % 3 == 1) std::ranges::shuffle(ranks, random);
    for (const TreeShape shape : kShapes) {
      const MulticastTree tree =
          team::resolve({shape, 1 + count % 5}, static_cast<std::size_t>(count));
      std::map<int, int> depths;
      walk(tree, ranks, 1, depths);
      ASSERT_EQ(depths.size(), ranks.size());
      int deepest = 0;
      for (const auto& [rank, depth] : depths) deepest = std::max(deepest, depth);
      int log2 = 0;
      while ((1 << log2) < count + 1) ++log2;
      if (tree.shape == TreeShape::flat) {
        EXPECT_LE(deepest, 1);
      }
      if (tree.shape == TreeShape::chain) {
        EXPECT_EQ(deepest, count);
      }
      if (tree.shape == TreeShape::delegate) {
        EXPECT_LE(deepest, 2);
      }
      if (tree.shape == TreeShape::binomial) {
        EXPECT_LE(deepest, log2);
      }
      if (count > 0) {
        EXPECT_EQ(depths[ranks[0].value()], 1);
      }
      for (std::size_t i = 1; i < ranks.size(); ++i) {
        if (depths[ranks[i].value()] == 1) {
          EXPECT_EQ(depths[ranks[i - 1].value()], 1);
        }
      }
    }
  }
}

TEST(Trees, ListsOfRanksAreCompressed) {
  std::vector<Rank> column;
  for (int i = 0; i < 100; ++i) column.emplace_back(7 + 32 * i);
  EXPECT_EQ(team::compress(ranks_to(1000)).size(), 1U);
  EXPECT_EQ(team::compress(column).size(), 1U);
  std::ranges::reverse(column);
  EXPECT_EQ(team::compress(column).size(), 1U);
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Rank> ranks;
    for (int i = 0; i < round; ++i) ranks.emplace_back(static_cast<int>(random() % 20));
    ASSERT_EQ(team::expand(team::compress(ranks)), ranks);
  }
}

// --- random programs

/// A multicast of a random program, known to all ranks.
struct Cast {
  int root = 0;
  int kind = 0;
  int number = 0;
  bool in_team = false;
  bool urgent = false;
  MulticastTree tree;
  std::vector<int> recipients;  // in the team, if in_team
  std::size_t size = 0;
};

std::vector<Cast> make_plan(std::uint64_t seed, int ranks, int team_size) {
  std::mt19937_64 random(seed);
  std::vector<Cast> plan;
  for (int i = 0; i < 40; ++i) {
    Cast cast;
    cast.number = i;
    cast.in_team = random() % 3 == 0;
    const int size = cast.in_team ? team_size : ranks;
    cast.root = static_cast<int>(random()) % size;
    cast.root = cast.root < 0 ? cast.root + size : cast.root;
    cast.kind = static_cast<int>(random() % 8);
    cast.urgent = random() % 4 == 0;
    cast.tree = {kShapes[random() % 6], 1 + static_cast<int>(random() % 4)};
    for (int rank = 0; rank < size; ++rank) {
      if (random() % 3 != 0) cast.recipients.push_back(rank);
    }
    std::ranges::shuffle(cast.recipients, random);
    cast.size = random() % 40 == 0 ? 30'000 : random() % 50;
    if (cast.kind >= 5 && random() % 8 == 0) cast.size = 150'000;  // several segments
    plan.push_back(std::move(cast));
  }
  return plan;
}

/// Multicasts that one rank has handled: number, world rank of the sender.
struct Handled {
  std::mutex mutex;
  std::multiset<std::pair<int, int>> casts;
  int wrong = 0;
  std::atomic<int> released{0};
  void add(const MessageContext& context, int number, bool right) {
    add(context.world_source().value(), number, right);
  }
  void add(int source, int number, bool right) {
    const std::lock_guard lock(mutex);
    casts.emplace(number, source);
    if (!right) ++wrong;
  }
};

/// Handlers of one team, one for each kind.
class Handlers {
 public:
  Handlers(Team& team, Handled& handled)
      : plain_(team.make_am([&](MessageContext context, int number, double x) {
          handled.add(context, number, x == number + 0.5);
        })),
        view_(team.make_am(
            [&](const MessageContext& context, int number, std::span<const int> values) {
              handled.add(context, number,
                          std::ranges::all_of(values, [&](int v) { return v == number; }));
            })),
        words_(
            team.make_am([&](MessageContext context, int number, std::vector<std::string> words) {
              handled.add(context, number, std::ranges::all_of(words, [&](const std::string& w) {
                            return w == std::to_string(number);
                          }));
            })),
        shared_(team.make_am(
            [&](MessageContext context, int number, const Immutable<std::vector<int>>& values) {
              handled.add(context, number,
                          std::ranges::all_of(*values, [&](int v) { return v == number; }));
            })),
        task_(team.make_am(
            [&](MessageContext context, int number, std::vector<std::string> words) {
              yield();
              handled.add(context, number, std::ranges::all_of(words, [&](const std::string& w) {
                            return w == std::to_string(number);
                          }));
            },
            {Delivery::task})),
        large_(team.make_large_am<int>(
            [this](std::size_t count, int number) { return make_buffer(count, number); },
            [&](std::span<int> values, int number, int root) {
              handled.add(root, number,
                          std::ranges::all_of(values, [&](int v) { return v == number; }));
            },
            [&] { ++handled.released; })),
        read_(make_read(team, handled, Delivery::inlined)),
        read_as_task_(make_read(team, handled, Delivery::task)) {}

  void send(Team& team, const Cast& cast) {
    std::vector<Rank> ranks;
    for (const int rank : cast.recipients) ranks.emplace_back(rank);
    const auto to = [&] {
      Recipients recipients(ranks, cast.tree);
      return cast.urgent ? std::move(recipients).urgent() : std::move(recipients);
    };
    switch (cast.kind) {
      case 0:
        return team.multicast(to(), plain_, cast.number, cast.number + 0.5);
      case 1:
        return team.multicast(to(), view_, cast.number, std::vector<int>(cast.size, cast.number));
      case 2: {
        const std::vector<std::string> words(cast.size % 100, std::to_string(cast.number));
        return words_.multicast(to(), cast.number, words);
      }
      case 3:
        return team.multicast(
            to(), shared_, cast.number,
            make_immutable<std::vector<int>>(std::vector<int>(cast.size, cast.number)));
      case 5:
      case 6:
      case 7: {
        // Unchanged until it is released.
        const auto payload = std::make_shared<std::vector<int>>(cast.size, cast.number);
        const auto& reader = cast.kind == 6 ? read_ : read_as_task_;
        return team.multicast(to(), cast.kind == 5 ? large_ : reader, *payload, cast.number,
                              team.world_rank(team.rank()).value(),
                              on_release([payload] { std::ranges::fill(*payload, -1); }));
      }
      default:
        return team.multicast(
            to(), task_, cast.number,
            std::vector<std::string>(cast.size % 100, std::to_string(cast.number)));
    }
  }

 private:
  std::span<int> make_buffer(std::size_t count, int number) {
    const std::lock_guard lock(mutex_);
    std::vector<int>& buffer = buffers_[number];
    EXPECT_TRUE(buffer.empty());
    buffer.resize(count);
    return buffer;
  }
  // The buffer stays unchanged until it was read and passed on.
  LargeMessage<int, int, int> make_read(Team& team, Handled& handled, Delivery delivery) {
    return team.make_large_am<int>(
        [this](std::size_t count, int number) { return make_buffer(count, number); },
        read_only(
            [&](std::span<const int> values, int number, int root) {
              handled.add(root, number,
                          std::ranges::all_of(values, [&](int v) { return v == number; }));
            },
            [](std::span<int> values) { std::ranges::fill(values, -1); }),
        [&handled] { ++handled.released; }, {.delivery = delivery});
  }

  ActiveMessage<int, double> plain_;
  ActiveMessage<int, std::span<const int>> view_;
  ActiveMessage<int, std::vector<std::string>> words_;
  ActiveMessage<int, Immutable<std::vector<int>>> shared_;
  ActiveMessage<int, std::vector<std::string>> task_;
  std::mutex mutex_;
  std::map<int, std::vector<int>> buffers_;
  LargeMessage<int, int, int> large_;
  LargeMessage<int, int, int> read_;
  LargeMessage<int, int, int> read_as_task_;
};

void run_plan(World& world, std::uint64_t seed) {
  std::vector<Rank> members;  // every second rank, backwards
  for (int rank = world.size() - 1; rank >= 0; rank -= 2) members.emplace_back(rank);
  const int team_size = static_cast<int>(members.size());
  const std::vector<Cast> plan = make_plan(seed, world.size(), team_size);
  Handled handled;
  Team team(world, members);
  Handlers in_world(world, handled);
  std::unique_ptr<Handlers> in_team;
  if (team.is_member()) in_team = std::make_unique<Handlers>(team, handled);
  std::multiset<std::pair<int, int>> expected;
  int releases = 0;
  for (const Cast& cast : plan) {
    if (cast.in_team && !team.is_member()) continue;
    Team& where = cast.in_team ? team : static_cast<Team&>(world);
    if (where.rank() == cast.root) (cast.in_team ? *in_team : in_world).send(where, cast);
    if (where.rank() == cast.root && cast.kind >= 5) ++releases;
    if (std::ranges::find(cast.recipients, where.rank().value()) == cast.recipients.end()) continue;
    expected.emplace(cast.number, where.world_rank(Rank(cast.root)).value());
  }
  world.wait();
  EXPECT_EQ(handled.casts, expected) << "seed " << seed;
  EXPECT_EQ(handled.wrong, 0) << "seed " << seed;
  EXPECT_EQ(handled.released, releases) << "seed " << seed;
}

TEST(Multicasts, OfRandomPrograms_AreHandledOnceByEachRecipient) {
  const auto seeds = static_cast<std::uint64_t>(sized_on_one_thread(300, 20));
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const int ranks = 1 + static_cast<int>(seed * 7 % 9);
    const auto result =
        run_turns({.seed = seed,
                   .ranks = ranks,
                   .workers = 1 + static_cast<int>(seed % 2),
                   .link = {.packet_bytes = seed % 4 == 0 ? 512U : 8192U,
                            .window_bytes = seed % 4 == 0 ? 2048U : std::size_t{1} << 20U}},
                  [&](World& world) {
                    run_plan(world, seed);
                    return 0;
                  });
    for (const auto& error : result.errors) {
      ASSERT_EQ(error, nullptr) << "seed " << seed << ": " << describe(error);
    }
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(Multicasts, OnThreads_AreHandledOnceByEachRecipient) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    EXPECT_EQ(run_world(5, 2, [&](World& world) { run_plan(world, seed); }), 0);
  }
}

TEST(Multicasts, To1024Ranks_CostTheSenderAFewMessages) {
  constexpr int kRanks = sized(1024, 128);
  for (const TreeShape shape : {TreeShape::automatic, TreeShape::k_ary}) {
    std::atomic<int> handled{0};
    std::uint64_t sent = 0;
    const auto result = run_turns({.seed = 7, .ranks = kRanks}, [&](World& world) {
      const auto message = world.make_am([&](MessageContext context, std::string_view text) {
        handled += context.source() == 17 && text == "to all" ? 1 : 0;
      });
      world.barrier();
      const std::uint64_t before = world.statistics().messages_sent;
      if (world.rank() == 17) {
        world.multicast(Recipients(ranks_to(kRanks), {shape, 4}), message, "to all");
        sent = world.statistics().messages_sent - before;
      }
      world.wait();
      return 0;
    });
    for (const auto& error : result.errors) ASSERT_EQ(error, nullptr) << describe(error);
    EXPECT_EQ(handled.load(), kRanks);
    EXPECT_LE(sent, 11U);
  }
}

/// Virtual time until all recipients have a payload of rank 0.
std::uint64_t time_of_payload(int ranks, std::size_t bytes, const MulticastTree& tree) {
  constexpr std::uint64_t kSeed = 12;  // a process for each rank, and no faults
  std::uint64_t begin_ns = 0;
  std::uint64_t last_ns = 0;
  const auto result = run_turns({.seed = kSeed, .ranks = ranks}, [&](World& world) {
    const std::vector<std::byte> payload(bytes);
    std::vector<std::byte> place(bytes);
    const auto large = world.make_large_am<std::byte>(
        [&place](std::size_t) { return std::span(place); },
        [&](std::span<std::byte>) { last_ns = std::max(last_ns, world.now_ns()); }, [] {});
    std::vector<Rank> others;
    for (int rank = 1; rank < ranks; ++rank) others.emplace_back(rank);
    world.barrier();
    if (world.rank() == 0) {
      begin_ns = world.now_ns();
      large.multicast(Recipients(others, tree), std::span<const std::byte>(payload));
    }
    world.wait();
    return 0;
  });
  for (const auto& error : result.errors) EXPECT_EQ(error, nullptr) << describe(error);
  return last_ns - begin_ns;
}

TEST(Multicasts, OfLargePayloads_ChooseATreeThatIsNearlyTheFastest) {
  for (const int ranks : {3, 5, 9, 33}) {
    if (kThreadSanitizer && ranks > 5) break;  // one thread
    for (const std::size_t kilobytes : {64UL, 512UL, 2048UL}) {
      const auto time = [&](const MulticastTree& tree) {
        return time_of_payload(ranks, kilobytes << 10U, tree);
      };
      std::uint64_t best = time({TreeShape::flat});
      for (const MulticastTree& tree : {MulticastTree{TreeShape::chain},
                                        {TreeShape::k_ary, 2},
                                        {TreeShape::binomial},
                                        {TreeShape::delegate}}) {
        best = std::min(best, time(tree));
      }
      EXPECT_LE(time({}), best + best / 4) << ranks << " ranks, " << kilobytes << " KiB";
    }
  }
}

/// Messages that rank 0 sends for a multicast to all others of a world with these costs.
std::uint64_t messages_of_root(int ranks, std::size_t bytes, const team::TreeCosts& costs,
                               const MulticastTree& tree = {}) {
  runtime::Config config = shoal::testing::sim_config(ranks, 1, 1);
  config.multicast_costs = costs;
  runtime::SimulatedWorld simulated(config);
  std::uint64_t sent = 0;
  std::atomic<int> arrived{0};
  simulated.run([&](World& world) {
    const std::vector<std::byte> payload(bytes);
    std::vector<std::byte> place(bytes);
    const auto small = world.make_am([&](int) { ++arrived; });
    const auto large =
        world.make_large_am<std::byte>([&place](std::size_t) { return std::span(place); },
                                       [&](std::span<std::byte>) { ++arrived; }, [] {});
    std::vector<Rank> others;
    for (int rank = 1; rank < ranks; ++rank) others.emplace_back(rank);
    world.barrier();
    if (world.rank() == 0) {
      const std::uint64_t before = world.statistics().messages_sent;
      if (bytes == 0) small.multicast(Recipients(others, tree), 1);
      if (bytes > 0) large.multicast(Recipients(others, tree), std::span(payload));
      sent = world.statistics().messages_sent - before;
    }
    world.wait();
    return 0;
  });
  EXPECT_EQ(arrived.load(), ranks - 1);
  return sent;
}

TEST(Multicasts, MeasuredCosts_DecideBetweenTrees) {
  const team::TreeCosts cheap_sends{100, 10'000, 1'000, 200'000};
  const team::TreeCosts cheap_hops{10'000, 10'000, 40'000, 45'000};
  constexpr std::size_t kMegabyte = std::size_t{1} << 20U;
  EXPECT_EQ(messages_of_root(16, 0, {}), 4U);  // binomial
  EXPECT_EQ(messages_of_root(16, 0, cheap_sends), 15U);
  EXPECT_EQ(messages_of_root(16, 0, cheap_hops), 4U);
  EXPECT_EQ(messages_of_root(16, 0, cheap_sends, {TreeShape::chain}), 1U);
  EXPECT_EQ(messages_of_root(8, kMegabyte, {}), 1U);  // a chain
  EXPECT_EQ(messages_of_root(8, kMegabyte, cheap_sends), 7U);
  EXPECT_EQ(messages_of_root(8, kMegabyte, cheap_hops), 1U);
  EXPECT_EQ(messages_of_root(16, 100'000, cheap_hops), 2U);  // binary
}

TEST(Multicasts, FastestTree_IsThatOfTheCosts) {
  using team::fastest_large_tree;
  using team::fastest_tree;
  const team::TreeCosts costs{300, 1'600, 44'000, 51'000};
  EXPECT_EQ(fastest_tree(costs, 1).shape, TreeShape::flat);
  EXPECT_EQ(fastest_tree(costs, 8).shape, TreeShape::flat);
  EXPECT_EQ(fastest_tree(costs, 38).shape, TreeShape::binomial);
  EXPECT_EQ(fastest_large_tree(costs, 1, 4).shape, TreeShape::flat);
  EXPECT_EQ(fastest_large_tree(costs, 7, 4).shape, TreeShape::chain);
  EXPECT_EQ(fastest_large_tree(costs, 7, 1).shape, TreeShape::k_ary);
  EXPECT_EQ(fastest_large_tree(costs, 1023, 2).shape, TreeShape::k_ary);
  EXPECT_EQ(fastest_large_tree({300, 1'600, 44'000, 1}, 7, 1).shape, TreeShape::chain);
}

// --- order, early handlers, failures

TEST(Multicasts, OfOneSenderToTheSameRecipients_KeepTheirOrder) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto result = run_turns({.seed = seed, .ranks = 9, .workers = 2}, [&](World& world) {
      int next = 0;
      const auto message = world.make_am([&](int number, const std::vector<int>& values) {
        EXPECT_EQ(number, next++);
        EXPECT_EQ(values.size(), static_cast<std::size_t>(number % 7 * 300));
      });
      if (world.rank() == 4) {
        for (int i = 0; i < 60; ++i) {
          world.multicast(Recipients(ranks_to(9), {kShapes[seed % 6], 2}), message, i,
                          std::vector<int>(static_cast<std::size_t>(i % 7 * 300)));
        }
      }
      world.wait();
      EXPECT_EQ(next, 60);
      return 0;
    });
    for (const auto& error : result.errors) ASSERT_EQ(error, nullptr) << describe(error);
  }
}

TEST(Multicasts, ArePassedOnByRanksWhoseHandlerIsNotThereYet) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const auto result = run_turns({.seed = seed, .ranks = 4}, [&](World& world) {
      Promise<void> passed_on;
      auto future = passed_on.future();
      const auto tell = world.make_am([&] { passed_on.set_value(); });
      // Rank 1 passes on to rank 2, and makes its handler when rank 2 has handled the message.
      if (world.rank() == 1) future.get();
      int handled = 0;
      const auto message = world.make_am([&](const std::vector<std::string>& words) {
        handled += static_cast<int>(words.size());
        if (world.rank() == 2) tell.send(Rank(1));
      });
      if (world.rank() == 0) {
        world.multicast(Recipients({Rank(1), Rank(2), Rank(3)}, {TreeShape::chain}), message,
                        std::vector<std::string>{"a", "b"});
      }
      world.wait();
      EXPECT_EQ(handled, world.rank() == 0 ? 0 : 2);
      return 0;
    });
    for (const auto& error : result.errors) {
      ASSERT_EQ(error, nullptr) << "seed " << seed << ": " << describe(error);
    }
  }
}

TEST(Multicasts, OfLargePayloadsToARankWithoutAHandler_AreStuckAndNamed) {
  // In segments; with its message, straight from the sender or passed on by rank 2.
  constexpr MulticastTree kTrees[] = {{TreeShape::chain}, {TreeShape::flat}, {TreeShape::k_ary, 4}};
  constexpr int kRanks = 9;
  for (std::uint64_t seed = 0; seed < 36; ++seed) {
    const auto result = run_turns({.seed = seed, .ranks = kRanks}, [&](World& world) {
      constexpr std::size_t kSize = 100'000;
      std::vector<int> buffer(kSize);
      const std::vector<int> payload(kSize, 1);
      std::optional<LargeMessage<int>> message;
      const auto make = [&] {
        message.emplace(world.make_large_am<int>([&](std::size_t) { return std::span(buffer); },
                                                 [](std::span<int>) {}));
      };
      if (world.rank() != 2) make();
      if (world.rank() == 0) {
        std::vector<Rank> others = ranks_to(kRanks);
        others.erase(others.begin());
        message->multicast(Recipients(others, kTrees[seed % 3]), payload);
      }
      try {
        world.wait();
        ADD_FAILURE() << "wait() has returned";
      } catch (const StuckError& error) {
        EXPECT_THAT(error.what(), HasSubstr("rank 2: messages from rank"));
        EXPECT_THAT(error.what(), HasSubstr("which was never made here"));
      }
      if (world.rank() == 2) make();  // and goes on
      world.wait();
      EXPECT_EQ(buffer[kSize - 1], world.rank() == 0 ? 0 : 1);
      return 0;
    });
    for (const auto& error : result.errors) ASSERT_EQ(error, nullptr) << describe(error);
  }
}

TEST(Multicasts, OfLargePayloadsWhileTheWorldFails_End) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const auto result = run_turns({.seed = seed, .ranks = 5, .workers = 2}, [&](World& world) {
      // In segments, or, along wide trees, with the message.
      const std::size_t size = seed % 4 < 2 ? 300'000 : 100'000;
      std::vector<int> buffer(size);
      const std::vector<int> payload(size, 1);
      const auto message = world.make_large_am<int>(
          [&](std::size_t) {
            if (world.rank() == 1 + static_cast<int>(seed % 4)) throw std::runtime_error("no room");
            return std::span(buffer);
          },
          [](std::span<int>) {});
      if (world.rank() == 0) {
        world.multicast(Recipients(ranks_to(5), {kShapes[seed % 6], 4}), message, payload);
      }
      world.wait();
      return 0;
    });
    for (const auto& error : result.errors) {
      ASSERT_NE(error, nullptr);
      EXPECT_THAT(describe(error), HasSubstr("no room"));
    }
  }
}

void take_number(int /*number*/) {}

TEST(Multicasts, WithBadRecipients_AreRefusedAndSendNothing) {
  const auto cast = [](const Recipients& recipients) {
    return error_of([&](World& world) {
      const std::uint64_t before = world.statistics().messages_sent;
      try {
        world.multicast(recipients, am<take_number>, 1);
      } catch (...) {
        EXPECT_EQ(world.statistics().messages_sent, before);
        throw;
      }
      world.wait();
    });
  };
  EXPECT_THAT(cast({Rank(0), Rank(3)}),
              AllOf(HasSubstr("rank 3"), HasSubstr("out of range"), HasSubstr("ranks 0 to 0")));
  EXPECT_THAT(cast({Rank(-1)}), HasSubstr("rank -1"));
  EXPECT_THAT(cast({Rank(0), Rank(0)}), HasSubstr("lists rank 0 twice"));
  EXPECT_THAT(cast(Recipients({Rank(0)}, {}, {1, 2})), HasSubstr("2 priorities"));
  EXPECT_THAT(cast(Recipients({Rank(0)}, {TreeShape::k_ary, 0})), HasSubstr("0 branches"));
  EXPECT_EQ(cast(std::vector<Rank>{}), "");
  EXPECT_EQ(cast({Rank(0)}), "");  // the sender itself
}

TEST(Multicasts, OfAFailingHandler_EndTheWorldOnce) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const auto result = run_turns({.seed = seed, .ranks = 6, .workers = 2}, [&](World& world) {
      const auto message = world.make_am([&](const std::vector<std::string>& words) {
        if (world.rank() == 3 && words.front() == "20") throw std::runtime_error("no more");
      });
      if (world.rank() < 2) {
        for (int i = 0; i < 60; ++i) {
          world.multicast(ranks_to(6), message, std::vector<std::string>{std::to_string(i)});
        }
      }
      world.wait();
      return 0;
    });
    for (const auto& error : result.errors) {
      ASSERT_NE(error, nullptr);
      EXPECT_THAT(describe(error), HasSubstr("no more"));
    }
  }
}

// --- copies

/// Counts its copies.
struct Counting {
  Counting() = default;
  Counting(const Counting& other) : text(other.text), copies(other.copies) {
    if (copies != nullptr) ++*copies;
  }
  Counting(Counting&&) = default;
  Counting& operator=(const Counting&) = delete;
  Counting& operator=(Counting&&) = delete;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(text);
  }
  std::string text;
  std::atomic<int>* copies = nullptr;
};

TEST(Multicasts, WithinAProcess_CopyOnceForEachRecipientAndShareImmutables) {
  constexpr int kRanks = 6;
  std::atomic<int> copies{0};
  std::atomic<int> handled{0};
  std::mutex mutex;
  std::set<const void*> addresses;
  EXPECT_EQ(run_world(kRanks, 1,
                      [&](World& world) {
                        const auto counting = world.make_am([&](const Counting& value) {
                          handled += value.text == "text" ? 1 : 0;
                        });
                        const auto immutable =
                            world.make_am([&](const Immutable<std::vector<int>>& values) {
                              const std::lock_guard lock(mutex);
                              addresses.insert(values->data());
                            });
                        if (world.rank() == 2) {
                          Counting value;
                          value.text = "text";
                          value.copies = &copies;
                          world.multicast(ranks_to(kRanks), counting, std::move(value));
                          world.multicast(ranks_to(kRanks), immutable,
                                          make_immutable<std::vector<int>>(1000, 1));
                        }
                        world.wait();
                      }),
            0);
  EXPECT_EQ(handled.load(), kRanks);
  EXPECT_EQ(copies.load(), kRanks);
  EXPECT_EQ(addresses.size(), 1U);
}

// --- the urgent lane

TEST(Urgent, Messages_OvertakeOthersAndKeepTheirOwnOrder) {
  int overtaken = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto result = run_turns(
        {.seed = seed, .ranks = 2, .link = {.packet_bytes = 1024, .window_bytes = 1U << 20U}},
        [&](World& world) {
          int next_normal = 0;
          int next_urgent = 0;
          const auto normal = world.make_am(
              [&](int number, std::span<const int> /*bulk*/) { EXPECT_EQ(number, next_normal++); });
          const auto urgent = world.make_am([&](int number, const std::vector<std::string>& words) {
            EXPECT_EQ(number, next_urgent++);
            EXPECT_EQ(words.size(), 2U);
            if (next_normal < 200) ++overtaken;
          });
          if (world.rank() == 0) {
            for (int i = 0; i < 200; ++i) normal.send(Rank(1), i, std::vector<int>(200));
            for (int i = 0; i < 20; ++i) {
              urgent.send_urgent(Rank(1), i, std::vector<std::string>{"u", "v"});
            }
            world.send_urgent(Rank(1), am<take_number>, 1);
          }
          world.wait();
          if (world.rank() == 1) {
            EXPECT_EQ(next_normal, 200);
            EXPECT_EQ(next_urgent, 20);
          }
          return 0;
        });
    for (const auto& error : result.errors) ASSERT_EQ(error, nullptr) << describe(error);
  }
  EXPECT_GT(overtaken, 100);  // of 1200
}

TEST(Urgent, Messages_DoNotWaitForEarlyOnesOfTheNormalLane) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const auto result = run_turns({.seed = seed, .ranks = 2}, [&](World& world) {
      Promise<void> urgent_came;
      auto future = urgent_came.future();
      const auto urgent = world.make_am([&] { urgent_came.set_value(); });
      world.barrier();
      // Rank 1 makes the handler of the first message when it has handled the second one.
      if (world.rank() == 1) future.get();
      int handled = 0;
      const auto normal = world.make_am([&] { ++handled; });
      if (world.rank() == 0) {
        normal.send(Rank(1));
        urgent.send_urgent(Rank(1));
      }
      world.wait();
      EXPECT_EQ(handled, world.rank().value());
      return 0;
    });
    for (const auto& error : result.errors) ASSERT_EQ(error, nullptr) << describe(error);
  }
}

}  // namespace team_multicast_test
