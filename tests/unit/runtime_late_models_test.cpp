// A rank has made something, and used it towards another one, before that one makes it. The other
// one comes there all the same: what it waits for before that is not held back by those messages.

#include <shoal/memory.hpp>
#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include "support/sizes.hpp"
#include "support/turn_world.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace runtime_late_models_test {

using namespace shoal;
using shoal::testing::run_turns;
using shoal::testing::sized_on_one_thread;
using shoal::testing::TurnOptions;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Step = std::function<void()>;

/// The rank that is ahead, and the other one.
struct Pair {
  Rank ahead{1};
  Rank behind{0};
};

/// Makes something, and uses it on the rank ahead, so that `seen` grows on the one behind. Returns
/// what ends it. Called by all ranks.
using Late = Step (*)(World& world, const Pair& pair, int& seen);
/// In the step that is returned, the rank behind waits for what the one ahead brings when `go` has
/// come. Both are called by all ranks.
using Awaited = Step (*)(World& world, const Pair& pair, const SharedFuture<void>& go);

Step ended_by_wait(std::shared_ptr<void> kept) {
  return [kept = std::move(kept)] {};
}

// --- what rank 0 makes late

Step late_am(World& world, const Pair& pair, int& seen, const AmOptions& options) {
  auto am = std::make_shared<ActiveMessage<int>>(
      world.make_am([&seen](int more) { seen += more; }, options));
  if (world.rank() == pair.ahead) am->send(pair.behind, 1);
  return ended_by_wait(std::move(am));
}
Step active_message(World& world, const Pair& pair, int& seen) {
  return late_am(world, pair, seen, {});
}
Step message_of_its_own_order(World& world, const Pair& pair, int& seen) {
  return late_am(world, pair, seen, {.own_order = true});
}

/// More than a narrow window has room for.
Step flood(World& world, const Pair& pair, int& seen) {
  constexpr int kCount = 1'000;  // of 8 bytes
  auto am = std::make_shared<ActiveMessage<int>>(
      world.make_am([&seen](int left) { seen += left == 0 ? 1 : 0; }));
  for (int left = kCount - 1; left >= 0 && world.rank() == pair.ahead; --left) {
    am->send(pair.behind, left);
  }
  return ended_by_wait(std::move(am));
}

Step multicast(World& world, const Pair& pair, int& seen) {
  auto am = std::make_shared<ActiveMessage<int>>(world.make_am(
      [&seen, &world, pair](int more) { seen += world.rank() == pair.behind ? more : 0; }));
  if (world.rank() == pair.ahead) am->multicast(Recipients({pair.behind, pair.ahead}), 1);
  return ended_by_wait(std::move(am));
}

Step large_message(World& world, const Pair& pair, int& seen) {
  struct Objects {
    Objects(World& team, int& count)
        : message(team.make_large_am<int>(
              [this](std::size_t size) {
                into.resize(size);
                return std::span(into);
              },
              [&count](std::span<int> data) { count += data[0]; })) {}
    std::vector<int> from = std::vector<int>(10'000, 1);
    std::vector<int> into;
    LargeMessage<int> message;
  };
  auto kept = std::make_shared<Objects>(world, seen);
  if (world.rank() == pair.ahead) kept->message.send(pair.behind, kept->from);
  return ended_by_wait(std::move(kept));
}

Step flow_value(World& world, const Pair& pair, int& seen) {
  auto flow = std::make_shared<Flow>(world, "late");
  auto datum = flow->data(0, {.owner = pair.ahead, .name = "late datum"});
  flow->insert([](int& value) { value = 1; }, write(datum));
  flow->insert([&seen](const int& value) { seen += value; }, read(datum), on_rank(pair.behind));
  return [flow = std::move(flow)] { flow->wait(); };
}

Step graph_input(World& world, const Pair& pair, int& seen) {
  auto graph = std::make_shared<TaskGraph<int>>(world, "late graph");
  graph->set_rank([](int k) { return Rank(k); }).set_mapping([](int) { return 0; });
  graph->set_task([&seen](int /*k*/, int more) { seen += more; });
  if (world.rank() == pair.ahead) graph->send(pair.behind.value(), 0, 1);
  return ended_by_wait(std::move(graph));
}

Step event(World& world, const Pair& pair, int& seen) {
  auto events = std::make_shared<Events>(world);
  if (world.rank() == pair.behind) {
    events->submit({{pair.ahead, "late"}},
                   [&seen](EventList& list) { seen += list[0].get<int>(); });
  } else if (world.rank() == pair.ahead) {
    events->fire(pair.behind, "late", 1);
  }
  return ended_by_wait(std::move(events));
}

class Adder : public DistributedObject<Adder> {
 public:
  Adder(Team& team, std::function<void(int)> function)
      : DistributedObject(team), function_(std::move(function)) {}
  int add(int more) {
    function_(more);
    return more;
  }

 private:
  std::function<void(int)> function_;
};

Step object(World& world, const Pair& pair, int& seen) {
  auto adder = std::make_shared<Adder>(world, [&seen](int more) { seen += more; });
  if (world.rank() == pair.ahead) adder->async<&Adder::add>(pair.behind, 1);
  return ended_by_wait(std::move(adder));
}

constexpr Late kModels[] = {message_of_its_own_order, flow_value, graph_input, event, object};
constexpr Late kMessages[] = {active_message, multicast, large_message};

// --- what rank 0 waits for

template <class F>
void answer_ahead(World& world, const Pair& pair, const SharedFuture<void>& go, F answer) {
  if (world.rank() != pair.ahead) return;
  world.spawn([go, answer = std::move(answer)] {
    go.get();
    answer();
  });
}

Step result_of_call(World& world, const Pair& pair, const SharedFuture<void>& go) {
  auto function = std::make_shared<RemoteFunction<int>>(world.make_function([go] {
    go.get();
    return 7;
  }));
  return [&world, pair, function = std::move(function)] {
    if (world.rank() == pair.behind) {
      EXPECT_EQ(function->call(pair.ahead).get(), 7);
    }
  };
}

Step promise_of_rank(World& world, const Pair& pair, const SharedFuture<void>& go) {
  struct Objects {
    Promise<int> promise;
    Future<int> future = promise.future();
    RemotePromise<int> handle;
  };
  auto kept = std::make_shared<Objects>();
  if (world.rank() == pair.behind) kept->handle = world.publish(std::move(kept->promise));
  const auto handle = world.broadcast(kept->handle, pair.behind);
  answer_ahead(world, pair, go, [&world, handle] { world.fulfill(handle, 7); });
  return [&world, pair, kept = std::move(kept)] {
    if (world.rank() == pair.behind) {
      EXPECT_EQ(kept->future.get(), 7);
    }
  };
}

Step value_of_flow(World& world, const Pair& pair, const SharedFuture<void>& go) {
  auto flow = std::make_shared<Flow>(world, "first");
  auto datum = flow->data(0, {.owner = pair.ahead, .name = "datum"});
  flow->insert(
      [go](int& value) {
        go.get();
        value = 7;
      },
      write(datum));
  return [pair, flow = std::move(flow), datum] {
    auto got = flow->acquire(read(datum), on_rank(pair.behind));
    if (got.here()) {
      EXPECT_EQ(got.get(), 7);
    }
  };
}

Step word_of_memory(World& world, const Pair& pair, const SharedFuture<void>& /*go*/) {
  auto memory = std::make_shared<GlobalMemory>(world);
  auto word = memory->collective_allocate<int>();
  memory->put(word.on(world.rank()), 7).wait();
  world.barrier();
  return [&world, pair, memory = std::move(memory), word] {
    if (world.rank() == pair.behind) {
      EXPECT_EQ(memory->get(word.on(pair.ahead)), 7);
    }
  };
}

Step result_of_object(World& world, const Pair& pair, const SharedFuture<void>& go) {
  auto adder = std::make_shared<Adder>(world, [go](int /*more*/) { go.get(); });
  return [&world, pair, adder = std::move(adder)] {
    if (world.rank() == pair.behind) {
      EXPECT_EQ(adder->sync<&Adder::add>(pair.ahead, 7), 7);
    }
  };
}

/// Kept on rank 0 by something that the model brings there.
struct Receipt {
  Promise<void> promise;
  Future<void> future = promise.future();
};

Step task_of_graph(World& world, const Pair& pair, const SharedFuture<void>& go) {
  auto told = std::make_shared<Receipt>();
  auto graph = std::make_shared<TaskGraph<int>>(world, "first graph");
  graph->set_rank([](int k) { return Rank(k); }).set_mapping([](int) { return 0; });
  graph->set_indegree([](int) { return 1; });
  graph->set_task([told](int /*k*/) { told->promise.set_value(); });
  answer_ahead(world, pair, go, [graph, pair] { graph->fulfill(pair.behind.value()); });
  return [&world, pair, told, graph] {
    if (world.rank() == pair.behind) told->future.get();
  };
}

Step task_of_event(World& world, const Pair& pair, const SharedFuture<void>& go) {
  auto told = std::make_shared<Receipt>();
  auto events = std::make_shared<Events>(world);
  if (world.rank() == pair.behind) {
    events->submit({{pair.ahead, "e"}}, [told](EventList&) { told->promise.set_value(); });
  }
  answer_ahead(world, pair, go, [events, pair] { events->fire(pair.behind, "e"); });
  return [&world, pair, told, events] {
    if (world.rank() == pair.behind) told->future.get();
  };
}

Step invocation(World& world, const Pair& pair, const SharedFuture<void>& go) {
  auto told = std::make_shared<Receipt>();
  auto adder = std::make_shared<Adder>(world, [told](int /*more*/) { told->promise.set_value(); });
  answer_ahead(world, pair, go, [adder, pair] { adder->async<&Adder::add>(pair.behind, 1); });
  return [&world, pair, told, adder] {
    if (world.rank() == pair.behind) told->future.get();
  };
}

Step own_message(World& world, const Pair& pair, const SharedFuture<void>& go) {
  auto told = std::make_shared<Receipt>();
  auto am = std::make_shared<ActiveMessage<>>(world.make_am([told] { told->promise.set_value(); }));
  answer_ahead(world, pair, go, [am, pair] { am->send(pair.behind); });
  return [&world, pair, told, am] {
    if (world.rank() == pair.behind) told->future.get();
  };
}

Step barriers(World& world, const Pair& /*pair*/, const SharedFuture<void>& /*go*/) {
  return [&world] {
    for (int i = 0; i < 3; ++i) world.barrier();
  };
}

constexpr Awaited kAwaited[] = {result_of_call, promise_of_rank,  value_of_flow,
                                word_of_memory, result_of_object, task_of_graph,
                                task_of_event,  invocation,       barriers};

// ---

/// First the rank behind waits, then it makes something.
struct Part {
  Awaited awaited;
  Late late;
  Pair pair;
};

/// "" or what was wrong.
std::string run_parts(std::uint64_t seed, int ranks, const std::vector<Part>& parts,
                      const net::LinkOptions& link = {}) {
  std::string wrong;
  const auto result = run_turns({.seed = seed, .ranks = ranks, .link = link}, [&](World& world) {
    std::vector<Promise<void>> gone(parts.size());
    std::vector<Step> steps;  // each kept to the end
    int seen = 0;
    int expected = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto& [awaited, late, pair] = parts[i];
      expected += world.rank() == pair.behind ? 1 : 0;
      steps.push_back(awaited(world, pair, gone[i].future()));
      steps.back()();
      steps.push_back(late(world, pair, seen));
      world.flush();
      gone[i].set_value();
    }
    for (std::size_t i = 1; i < steps.size(); i += 2) steps[i]();
    world.wait();
    if (seen != expected) wrong += fmt::format("{} of {} were seen; ", seen, expected);
    return 0;
  });
  for (const auto& error : result.errors) {
    if (error != nullptr) return describe(error);
  }
  return wrong;
}

template <std::size_t n, std::size_t m>
void expect_progress(const Awaited (&awaited)[n], const Late (&lates)[m],
                     const net::LinkOptions& link = {}) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < m; ++k) {
      // An invocation after an object was made is one of a later epoch: docs/objects.md.
      if (awaited[i] == invocation && lates[k] == object) continue;
      for (std::uint64_t seed = 0; seed < std::uint64_t{sized_on_one_thread(24, 6)}; ++seed) {
        const std::string wrong =
            run_parts(seed, 2 + static_cast<int>(seed % 3), {{awaited[i], lates[k], {}}}, link);
        EXPECT_EQ(wrong, "") << "awaited " << i << ", late " << k << ", seed " << seed;
        if (!wrong.empty()) break;
      }
    }
  }
}

TEST(LateModels, DoNotHoldBackWhatTheirRankWaitsFor) { expect_progress(kAwaited, kModels); }

TEST(LateModels, DoNotHoldBackMessagesOfTheProgram) { expect_progress({own_message}, kModels); }

TEST(LateMessages, DoNotHoldBackWhatModelsBring) { expect_progress(kAwaited, kMessages); }

// The rank ahead brings it behind more messages than its window has room for.
TEST(LateMessages, LeaveTheWindowForWhatModelsBring) {
  expect_progress(kAwaited, {flood}, {.packet_bytes = 512, .window_bytes = 2048});
}

// Messages of the program are handled in the order sent, whatever their handlers.
TEST(LateMessages, HoldBackLaterMessagesOfTheProgram) {
  EXPECT_THAT(run_parts(0, 2, {{own_message, active_message, {}}}),
              AllOf(HasSubstr("messages from rank 1 are for active message "),
                    HasSubstr("which was never made here")));
}

// --- messages that wait take no room that others need

/// Ranks 0 and 1 exchange events before they make a message, which rank 2 multicasts meanwhile:
/// they pass it on to each other.
TEST(LateMessages, LeaveRoomWhereTheyArePassedOn) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    TurnOptions options{.seed = seed, .ranks = 3};
    options.link.window_bytes = 8192;
    const auto result = run_turns(options, [](World& world) {
      const Rank other(1 - world.rank().value());
      Events events(world);
      if (world.rank() != 2) {
        sleep_for(std::chrono::microseconds(200));
        events.fire(other, "e");
        static_cast<void>(events.wait({{other, "e"}}));
      }
      std::size_t count = 0;
      const auto late = world.make_am([&](std::span<const long> v) { count += v.size(); });
      for (int i = 0; i < 3 && world.rank() == 2; ++i) {
        const std::vector<long> values(3000);
        world.multicast(Recipients({Rank(0), Rank(1)}, {TreeShape::chain}), late, values);
        world.multicast(Recipients({Rank(1), Rank(0)}, {TreeShape::chain}), late, values);
      }
      world.wait();
      EXPECT_EQ(count, world.rank() == 2 ? 0 : 18'000);
      return 0;
    });
    for (const auto& error : result.errors) {
      ASSERT_EQ(error, nullptr) << "seed " << seed << ": " << describe(error);
    }
  }
}

// --- what is there keeps its order, while something else waits

/// Rank 1 makes a message late, which rank 2 has sent. Meanwhile rank 0 sends in `act` what rank 1
/// handles; the last message keeps its promise.
void expect_order(const std::function<void(World& world, Promise<void>& last, Step& act)>& make) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const auto result = run_turns({.seed = seed, .ranks = 3}, [&](World& world) {
      Promise<void> last;
      Promise<void> waits;
      const auto tell = world.make_am([&] { waits.set_value(); });
      Step act;
      make(world, last, act);
      world.barrier();
      if (world.rank() == 1) last.future().get();
      const auto late = world.make_am([] {}, {.own_order = true});
      if (world.rank() == 2) {
        late.send(Rank(1));
        tell.send(Rank(0));
      } else if (world.rank() == 0) {
        waits.future().get();
        act();
      }
      world.wait();
      return 0;
    });
    for (const auto& error : result.errors) {
      ASSERT_EQ(error, nullptr) << "seed " << seed << ": " << describe(error);
    }
  }
}

TEST(OtherOrders, OfPutAndSignal_AreKept) {
  expect_order([](World& world, Promise<void>& last, Step& act) {
    auto memory = std::make_shared<GlobalMemory>(
        world, GlobalMemoryOptions{.checks = GlobalMemoryOptions::Checks::off});
    const auto word = memory->collective_allocate<int>();
    auto look = std::make_shared<ActiveMessage<int>>(
        world.make_am([&last, &memory = *memory, word](int expected) {
          if (expected == 0) return;
          EXPECT_EQ(*memory.local(word), expected);
          last.set_value();
        }));
    act = [memory = std::move(memory), word, look = std::move(look)] {
      look->send(Rank(1), 0);
      const int value = 7;
      memory->put_signal(word.on(Rank(1)), std::span(&value, 1), [&] { look->send(Rank(1), 7); });
    };
  });
}

TEST(OtherOrders, OfATunnelAndItsEnd_AreKept) {
  expect_order([](World& world, Promise<void>& last, Step& act) {
    auto adder = std::make_shared<Adder>(world, [](int /*more*/) {});
    auto look = std::make_shared<ActiveMessage<bool>>(world.make_am([&last](bool is_last) {
      if (is_last) last.set_value();
    }));
    act = [adder = std::move(adder), look = std::move(look)] {
      {
        auto tunnel = bind<&Adder::add>(*adder, Rank(1));
        tunnel(1);
        look->send(Rank(1), false);
        tunnel(2);
      }
      look->send(Rank(1), true);
    };
  });
}

// The second message comes about when both handlers are opened.
TEST(OtherOrders, OfHandlersThatAreMadeTogether_AreKept) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto give_way = [](World& world, std::uint64_t times) {
      for (std::uint64_t i = 0; i < times; ++i) world.async([] {}).get();
    };
    std::string order;
    const auto result = run_turns({.seed = seed, .ranks = 2}, [&](World& world) {
      if (world.rank() == 0) give_way(world, 1 + seed % 7);
      const auto first = world.make_am([&] { order += 'a'; }, {.own_order = true});
      const auto second = world.make_am([&] { order += 'b'; }, {.own_order = true});
      if (world.rank() == 1) {
        first.send(Rank(0));
        give_way(world, seed / 7 % 9);
        second.send(Rank(0));
      }
      world.wait();
      return 0;
    });
    ASSERT_EQ(order, "ab") << "seed " << seed;
  }
}

TEST(RandomLateModels, OfSeveralRanks_HoldBackNothing) {
  constexpr std::uint64_t kPrograms = sized_on_one_thread(1000, 50);
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&random](std::size_t n) { return static_cast<int>(random() % n); };
    const int ranks = 2 + below(5);
    std::vector<Part> parts;
    while (parts.size() < 8) {
      const Awaited awaited = kAwaited[below(std::size(kAwaited))];
      if (awaited == invocation) continue;  // of another epoch, perhaps
      const int model = below(std::size(kModels) + std::size(kMessages));
      const auto models = static_cast<int>(std::size(kModels));
      const Late late = model < models ? kModels[model] : kMessages[model - models];
      const int ahead = below(static_cast<std::size_t>(ranks));
      const int distance = 1 + below(static_cast<std::size_t>(ranks - 1));
      parts.push_back({awaited, late, {Rank(ahead), Rank((ahead + distance) % ranks)}});
    }
    ASSERT_EQ(run_parts(seed, ranks, parts), "") << "seed " << seed;
  }
}

}  // namespace runtime_late_models_test
