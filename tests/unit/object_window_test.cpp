// Invocations that wait at their receiver, and the windows of their senders: a flood stays bounded,
// and what cannot run yet leaves the window.

#include <shoal/compute.hpp>

#include "support/object_worlds.hpp"
#include "support/run_world.hpp"
#include "support/sizes.hpp"
#include "team/messenger.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace object_window_test {

using shoal::all_ranks;
using shoal::DistributedObject;
using shoal::Future;
using shoal::Promise;
using shoal::Rank;
using shoal::Team;
using shoal::World;
using shoal::testing::run_turns;
using shoal::testing::run_world;
using shoal::testing::sized_on_one_thread;
using shoal::testing::TurnResult;

constexpr std::size_t kPacket = 512;
constexpr std::size_t kWindow = 2048;
constexpr std::uint64_t kSeeds = sized_on_one_thread(60, 24);

class Sink : public DistributedObject<Sink> {
 public:
  explicit Sink(Team& team) : DistributedObject(team) {}
  void take(std::int64_t number) {
    in_order = in_order && number == taken;
    ++taken;
  }
  void take_another(std::int64_t number) { take(number); }
  void take_text(const std::string& text) { taken += text.empty() ? 0 : 1; }
  /// Waits for an invocation of the rank that invokes it.
  void ask(Rank from) {
    sync<&Sink::take_text>(from, "asked");
    ++taken;
  }
  [[nodiscard]] std::int64_t count() const { return taken; }

  std::int64_t taken = 0;
  bool in_order = true;
};

// --- a flood of a rank that computes

/// How rank 0 invokes `number` on rank 1.
using Invoke = std::function<void(Sink&, std::int64_t number)>;

/// Rank 0 invokes many times while rank 1 computes, in its section, until the sender has waited for
/// a while. As few have been sent then as the window has room for, and all run in the end.
class Flood {
 public:
  static constexpr std::int64_t kCount = shoal::testing::sized(3000, 1000);
  static constexpr int kWaits = 100;

  enum class From : std::uint8_t { section, task_of_another_team };

  explicit Flood(Invoke invoke, From from) : invoke_(std::move(invoke)), from_(from) {}

  void operator()(World& world) {
    Team team(world, {Rank(0), Rank(1)}, "another");
    Sink sink(world);
    const auto invoke_all = [this, &sink] {
      for (std::int64_t i = 0; i < kCount; ++i, ++sent_) invoke_(sink, i);
    };
    world.barrier();  // what comes before there is a receiver leaves the window
    if (world.rank() == 0) {
      sender_ = &world.core().messenger();
      if (from_ == From::section) {
        invoke_all();
      } else {
        team.spawn(invoke_all);
      }
    } else {
      for (int waits = 0; sent_ < kCount && waits < kWaits;) {
        shoal::compute(shoal::Cost::of_seconds(1e-5), [] {});
        waits = has_waiting_sender() ? waits + 1 : 0;
      }
      const std::int64_t waiting = sent_ - sink.taken;
      EXPECT_LE(static_cast<std::size_t>(waiting) * sizeof(std::int64_t), kWindow + kPacket)
          << waiting << " invocations wait at a rank that computes";
    }
    sink.fence();
    EXPECT_EQ(sink.taken, world.rank() == 1 ? kCount : 0);
    EXPECT_TRUE(sink.in_order);
  }

 private:
  [[nodiscard]] bool has_waiting_sender() const {
    shoal::team::Messenger* const sender = sender_;
    return sender != nullptr &&
           sender->link_to(Rank(1), shoal::net::Lane::normal).state().waiting_senders > 0;
  }

  const Invoke invoke_;
  const From from_;
  std::atomic<shoal::team::Messenger*> sender_{nullptr};
  std::atomic<std::int64_t> sent_{0};
};

void flood(const Invoke& invoke, Flood::From from = Flood::From::section) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Flood one(invoke, from);
    const TurnResult result =
        run_turns({.seed = seed,
                   .ranks = 2,
                   .workers = 1 + static_cast<int>(seed % 2),
                   .link = {.packet_bytes = kPacket, .window_bytes = kWindow}},
                  [&one](World& world) {
                    one(world);
                    return 0;
                  });
    for (const std::exception_ptr& error : result.errors) {
      ASSERT_EQ(error, nullptr) << "seed " << seed << ": " << shoal::describe(error);
    }
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
  Flood on_threads(invoke, from);
  EXPECT_EQ(run_world(2, 2, [&on_threads](World& world) { on_threads(world); },
                      {"--window-bytes", "2K", "--packet-bytes", "512"}),
            0);
}

TEST(Flood, OfOneMethod_WaitsInTheWindow) {
  flood([](Sink& sink, std::int64_t i) { sink.async<&Sink::take>(Rank(1), i); });
}

TEST(Flood, OfSeveralMethods_WaitsInTheWindow) {
  flood([](Sink& sink, std::int64_t i) {
    if (i % 2 == 0) {
      sink.async<&Sink::take>(Rank(1), i);
    } else {
      sink.async<&Sink::take_another>(Rank(1), i);
    }
  });
}

TEST(Flood, WithoutAnOrder_WaitsInTheWindow) {
  flood([](Sink& sink, std::int64_t) {
    sink.unordered().async<&Sink::take_text>(Rank(1), "12345678");
  });
}

TEST(Flood, OfTexts_WaitsInTheWindow) {
  flood([](Sink& sink, std::int64_t) {
    sink.async<&Sink::take_text>(Rank(1), std::string(200, 'x'));
  });
}

TEST(Flood, ThroughATunnel_WaitsInTheWindow) {
  flood([](Sink& sink, std::int64_t i) {
    thread_local std::optional<decltype(shoal::bind<&Sink::take>(sink, Rank(1)))> tunnel;
    if (i == 0) tunnel.emplace(shoal::bind<&Sink::take>(sink, Rank(1)));
    (*tunnel)(i);
    if (i == Flood::kCount - 1) tunnel.reset();
  });
}

// The caller's team is another one: its invocations are counted there.
TEST(Flood, FromAnotherTeam_WaitsInTheWindow) {
  flood([](Sink& sink, std::int64_t i) { sink.async<&Sink::take>(Rank(1), i); },
        Flood::From::task_of_another_team);
}

// --- what cannot run yet leaves the window

/// Many programs with a window of a few invocations; each rank must end well.
template <class F>
void with_small_windows(int ranks, F program) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const TurnResult result = run_turns({.seed = seed,
                                         .ranks = ranks,
                                         .workers = 1 + static_cast<int>(seed % 2),
                                         .link = {.packet_bytes = 256, .window_bytes = 256}},
                                        [&program](World& world) {
                                          program(world);
                                          return 0;
                                        });
    for (const std::exception_ptr& error : result.errors) {
      ASSERT_EQ(error, nullptr) << "seed " << seed << ": " << shoal::describe(error);
    }
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

constexpr int kMany = 60;  // more than the window has room for

/// Rank 0 keeps a promise of rank 1 by a message behind what it has invoked.
class RemoteSignal {
 public:
  explicit RemoteSignal(World& world)
      : future_(promise_.future()), tell_(world.make_am([this] { promise_.set_value(); })) {}
  void tell(Rank to) const { tell_.send(to); }
  void wait() { future_.get(); }

 private:
  Promise<void> promise_;
  Future<void> future_;
  shoal::ActiveMessage<> tell_;
};

TEST(Window, InvocationsOfALaterEpoch_LeaveIt) {
  with_small_windows(2, [](World& world) {
    RemoteSignal told(world);
    Sink sink(world);
    if (world.rank() == 0) {
      sink.advance_epoch();
      for (int i = 0; i < kMany; ++i) sink.async<&Sink::take>(Rank(1), i);
      told.tell(Rank(1));
    } else {
      told.wait();
      EXPECT_EQ(sink.taken, 0);
      sink.advance_epoch();
    }
    sink.fence();
    EXPECT_EQ(sink.taken, world.rank() == 1 ? kMany : 0);
    EXPECT_TRUE(sink.in_order);
  });
}

TEST(Window, InvocationsOfAnObjectThatIsMadeLater_LeaveIt) {
  with_small_windows(2, [](World& world) {
    RemoteSignal told(world);
    Sink sink(world);
    std::optional<Sink> late;
    if (world.rank() == 0) {
      late.emplace(world);
      for (int i = 0; i < kMany; ++i) {
        late->unordered().async<&Sink::take_text>(Rank(1), "text");
        sink.async<&Sink::take>(Rank(1), i);
      }
      told.tell(Rank(1));
    } else {
      told.wait();
      late.emplace(world);
    }
    late->fence();
    EXPECT_EQ(late->taken, world.rank() == 1 ? kMany : 0);
    EXPECT_EQ(sink.taken, world.rank() == 1 ? kMany : 0);
    sink.fence();
  });
}

// Rank 1 has yet to make the team.
TEST(Window, InvocationsForATeamThatIsMadeLater_HoldBackNobodyForGood) {
  with_small_windows(2, [](World& world) {
    RemoteSignal told(world);
    if (world.rank() == 1) told.wait();
    Team team(world, {Rank(0), Rank(1)}, "late");
    Sink sink(team);
    if (world.rank() == 0) {
      for (int i = 0; i < kMany; ++i) sink.async<&Sink::take>(Rank(1), i);
      told.tell(Rank(1));
    }
    sink.fence();
    EXPECT_EQ(sink.taken, world.rank() == 1 ? kMany : 0);
  });
}

// The first one waits for an invocation on rank 0, where the section waits for room and keeps its
// turn.
TEST(Window, InvocationsBehindOneThatWaits_LeaveIt) {
  with_small_windows(2, [](World& world) {
    Sink sink(world);
    if (world.rank() == 0) {
      sink.async<&Sink::ask>(Rank(1), Rank(0));
      for (int i = 1; i <= kMany; ++i) sink.async<&Sink::take>(Rank(1), i);
    }
    sink.fence();
    EXPECT_EQ(sink.taken, world.rank() == 1 ? kMany + 1 : 1);
    if (world.rank() == 1) {
      EXPECT_TRUE(sink.in_order);
    }
  });
}

// Each waits, and none waits for another.
TEST(Window, InvocationsThatWait_LeaveIt) {
  with_small_windows(3, [](World& world) {
    Sink sink(world);
    const int size = world.size();
    for (int i = 0; i < kMany; ++i) {
      sink.unordered().async<&Sink::ask>(Rank((world.rank() + 1) % size), world.rank());
    }
    sink.fence();
    EXPECT_EQ(sink.taken, 2 * kMany);
  });
}

// Each section waits for room, and keeps its turn.
TEST(Window, SectionsThatFloodEachOther_GoOn) {
  with_small_windows(3, [](World& world) {
    Sink sink(world);
    for (int i = 0; i < kMany; ++i) {
      for (int to = 0; to < world.size(); ++to) sink.async<&Sink::take_text>(Rank(to), "text");
      EXPECT_EQ(sink.taken, 0) << "the section was interrupted in send()";
    }
    sink.fence();
    EXPECT_EQ(sink.taken, 3 * kMany);
  });
}

// Of another team than that of the section that waits for room.
TEST(Window, InvocationsOfAllTeams_LeaveItWhileTheSectionWaitsForRoom) {
  with_small_windows(2, [](World& world) {
    Team team(world, {Rank(0), Rank(1)}, "other");
    Sink first(world);
    Sink second(team);
    const Rank next((world.rank() + 1) % world.size());
    for (int i = 0; i < kMany; ++i) {
      if (world.rank() == 0) {
        first.async<&Sink::take>(next, i);
      } else {
        second.async<&Sink::take>(next, i);
      }
    }
    second.fence();
    first.fence();
    EXPECT_EQ(first.taken + second.taken, kMany);
    first.fence();
  });
}

}  // namespace object_window_test
