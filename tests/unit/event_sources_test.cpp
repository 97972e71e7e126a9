// Events from time and from the machine.

#include <shoal/event.hpp>

#include "env/machine_watch.hpp"
#include "runtime/simulated_world.hpp"
#include "support/event_program.hpp"
#include "support/run_world.hpp"
#include "support/signals.hpp"
#include "support/sim_config.hpp"

#include <shoal/sleep.hpp>
#include <shoal/world.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace event_sources_test {

using namespace std::chrono_literals;

using shoal::EventList;
using shoal::Events;
using shoal::Rank;
using shoal::World;
using shoal::runtime::SimulatedWorld;
using shoal::testing::handler_of;
using shoal::testing::refusal_of;
using shoal::testing::run_world;
using shoal::testing::sim_config;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// run_world() on one rank with one worker, which has to end well.
void run_one(const std::function<void(World&)>& program) { EXPECT_EQ(run_world(1, 1, program), 0); }

/// For longer than the machine is looked at without an event of this name.
void expect_nothing_fired(Events& events, const char* name) {
  events.fire_after(100ms, shoal::self, "enough");
  static_cast<void>(events.wait({{shoal::self, "enough"}}));
  EXPECT_TRUE(events.retrieve_any({{shoal::self, name}}).empty());
}

TEST(EventTimer, FiresAtItsTime_InTheOrderOfTimes) {
  SimulatedWorld simulated(sim_config(2, 1, 3));
  simulated.run([](World& world) {
    Events events(world);
    std::vector<int> got;
    const std::uint64_t begin_ns = world.now_ns();
    events.submit({{shoal::any, "t"}},
                  [&](EventList& list) {
                    const int delay_ms = list[0].get<int>();
                    got.push_back(delay_ms);
                    const std::uint64_t passed_ns = world.now_ns() - begin_ns;
                    EXPECT_GE(passed_ns, static_cast<std::uint64_t>(delay_ms) * 1'000'000);
                    EXPECT_LT(passed_ns,
                              static_cast<std::uint64_t>(delay_ms) * 1'000'000 + 200'000);
                  },
                  {.name = "ticks", .persistent = true});
    for (const int delay_ms : {30, 10, 20}) {
      events.fire_after(std::chrono::milliseconds(delay_ms), Rank(1 - world.rank()), "t", delay_ms);
    }
    world.wait();
    EXPECT_THAT(got, ElementsAre(10, 20, 30));
    return 0;
  });
}

TEST(EventTimer, OfOneTask_MakesItPeriodic) {
  run_one([](World& world) {
    Events events(world);
    int ticks = 0;
    events.submit({{shoal::self, "tick"}},
                  [&] {
                    if (++ticks < 5) events.fire_after(100us, shoal::self, "tick");
                  },
                  {.name = "clock", .persistent = true});
    events.fire_after(0s, shoal::self, "tick");
    world.wait();
    EXPECT_EQ(ticks, 5);
  });
}

TEST(EventTimer, ThatWasCancelled_FiresNothingAndHoldsNobodyUp) {
  run_one([](World& world) {
    Events events(world);
    const std::uint64_t timer = events.fire_after(24h, shoal::self, "never");
    EXPECT_TRUE(events.cancel(timer));
    world.wait();
    EXPECT_FALSE(events.cancel(timer));
    EXPECT_FALSE(events.cancel(12345));
  });
}

/// Tasks that set a timer, and cancel it about when it fires. Each timer does one of both.
void cancel_about_in_time(World& world) {
  Events events(world);
  constexpr int kCount = 20;
  std::atomic<int> fired{0};
  std::atomic<int> cancelled{0};
  events.submit({{shoal::self, "t"}}, [&] { ++fired; }, {.name = "fired", .persistent = true});
  for (int i = 0; i < kCount; ++i) {
    world.spawn([&, i] {
      const std::uint64_t timer = events.fire_after(i * 1us, shoal::self, "t");
      shoal::sleep_for((kCount - i) * 1us);
      if (events.cancel(timer)) ++cancelled;
    });
  }
  world.wait();
  EXPECT_EQ(fired + cancelled, kCount);
}

TEST(EventTimer, ThatIsCancelledAsItFires_DoesOneOfBoth) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SimulatedWorld simulated(sim_config(2, 2, seed));
    simulated.run([](World& world) {
      cancel_about_in_time(world);
      return 0;
    });
    for (const auto& rank : simulated.ranks()) ASSERT_EQ(rank->error(), nullptr) << seed;
    ASSERT_FALSE(HasFailure()) << seed;
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run_world(2, 2, cancel_about_in_time), 0);
}

TEST(EventTimer, ThatAThreadOfTheProgramCancels_HoldsNobodyUp) {
  run_one([](World& world) {
    Events events(world);
    const std::uint64_t timer = events.fire_after(24h, shoal::self, "never");
    std::thread other([&] { EXPECT_TRUE(events.cancel(timer)); });
    world.wait();
    other.join();
  });
}

TEST(EventTimer, OfMoreTimeThanThereIs_DoesNotFire) {
  const auto program = [](World& world) {
    Events events(world);
    using Unsigned = std::chrono::duration<std::uint64_t, std::nano>;
    const std::vector<std::uint64_t> timers{
        events.fire_after(Unsigned::max(), shoal::self, "never"),
        events.fire_after(Unsigned(1ULL << 63U), shoal::self, "never"),
        events.fire_after(std::chrono::hours::max(), shoal::self, "never"),
        events.fire_after(std::chrono::duration<double>(1e300), shoal::self, "never")};
    for (const auto less : {-1s, std::chrono::seconds::min()}) {
      events.fire_after(less, shoal::self, "at once");
    }
    events.submit({{shoal::self, "at once"}, {shoal::self, "at once"}}, [&] {
      shoal::sleep_for(1ms);
      for (const std::uint64_t timer : timers) EXPECT_TRUE(events.cancel(timer));
    });
    world.wait();
    EXPECT_TRUE(events.retrieve_any({{shoal::self, "never"}}).empty());
    return 0;
  };
  EXPECT_EQ(run_world(1, 2, program), 0);
  SimulatedWorld simulated(sim_config(1, 1, 1));
  simulated.run(program);
  EXPECT_EQ(simulated.ranks()[0]->error(), nullptr);
}

TEST(EventTimer, InAWorldThatFails_DoesNotHoldItUp) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_world(1, 1,
                      [](World& world) {
                        Events events(world);
                        events.fire_after(24h, shoal::self, "never");
                        events.fire_on_signal(SIGUSR2, shoal::self, "neither");
                        world.spawn([] { throw std::runtime_error("stop"); });
                        world.wait();
                      }),
            1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("stop"));
}

TEST(EventTimer, MadeInAWorldThatHasFailed_IsStoppedAtOnce) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_world(1, 1,
                      [](World& world) {
                        Events events(world);
                        world.spawn([] { throw std::runtime_error("stop"); });
                        EXPECT_THROW(world.wait(), shoal::TaskError);
                        const auto timer = events.fire_after(24h, shoal::self, "never");
                        EXPECT_FALSE(events.cancel(timer));
                        events.fire_on_signal(SIGUSR2, shoal::self, "neither");
                        struct sigaction now {};
                        ASSERT_EQ(sigaction(SIGUSR2, nullptr, &now), 0);
                        EXPECT_EQ(now.sa_handler, SIG_DFL);
                      }),
            0);
  testing::internal::GetCapturedStderr();
}

TEST(EventTimer, ForATargetThatThereIsNot_IsRefusedAtOnce) {
  run_one([](World& world) {
    Events events(world);
    EXPECT_THAT(refusal_of([&] { events.fire_after(1ms, Rank(5), "x"); }), HasSubstr("rank 5"));
    EXPECT_THAT(refusal_of([&] { events.fire_on_signal(SIGUSR2, shoal::any, "x"); }),
                HasSubstr("any"));
    world.wait();
  });
}

TEST(EventDescriptor, ThatCanBeRead_FiresOnce) {
  run_one([](World& world) {
    Events events(world);
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    int fired = 0;
    events.submit({{shoal::self, "input"}}, [&] {
      ++fired;
      char byte = 0;
      EXPECT_EQ(read(ends[0], &byte, 1), 1);
      EXPECT_EQ(byte, 'x');
      events.submit({{shoal::self, "end"}}, [&] { ++fired; });
      events.fire_when_readable(ends[0], shoal::self, "end");
      close(ends[1]);
    });
    events.fire_when_readable(ends[0], shoal::self, "input");
    events.fire_after(1ms, shoal::self, "write");
    events.submit({{shoal::self, "write"}}, [&] { EXPECT_EQ(write(ends[1], "x", 1), 1); });
    world.wait();
    EXPECT_EQ(fired, 2);
    close(ends[0]);
    EXPECT_THROW(events.fire_when_readable(ends[0], shoal::self, "x"), shoal::Error);
  });
}

TEST(EventDescriptor, ThatWasCancelled_FiresNothing) {
  run_one([](World& world) {
    Events events(world);
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    const std::uint64_t number = events.fire_when_readable(ends[0], shoal::self, "input");
    EXPECT_TRUE(events.cancel(number));
    EXPECT_FALSE(events.cancel(number));
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    expect_nothing_fired(events, "input");
    world.wait();
    close(ends[0]);
    close(ends[1]);
  });
}

TEST(EventSignal, FiresInsteadOfItsDefault_OnAllWhoAsked) {
  run_one([](World& world) {
    Events events(world);
    int fired = 0;
    events.submit({{shoal::self, "usr2"}, {shoal::self, "hup"}, {shoal::self, "usr2"}},
                  [&] { ++fired; });
    events.fire_on_signal(SIGUSR2, shoal::self, "usr2");
    events.fire_on_signal(SIGUSR2, shoal::self, "usr2");
    events.fire_on_signal(SIGHUP, shoal::self, "hup");
    events.submit({{shoal::self, "send"}}, [] {
      std::raise(SIGUSR2);
      std::raise(SIGHUP);
    });
    events.fire(shoal::self, "send");
    world.wait();
    EXPECT_EQ(fired, 1);
  });
  EXPECT_EQ(handler_of(SIGUSR2), SIG_DFL);
}

TEST(EventSignal, ThatWasCancelled_HasItsDefaultAgain) {
  run_one([](World& world) {
    Events events(world);
    const std::uint64_t first = events.fire_on_signal(SIGUSR2, shoal::self, "x");
    const std::uint64_t second = events.fire_on_signal(SIGUSR2, shoal::self, "x");
    EXPECT_TRUE(events.cancel(first));
    EXPECT_NE(handler_of(SIGUSR2), SIG_DFL) << "one is still watched";
    EXPECT_TRUE(events.cancel(second));
    EXPECT_EQ(handler_of(SIGUSR2), SIG_DFL);
    EXPECT_FALSE(events.cancel(second));
    world.wait();  // every fired event was taken, and nothing is waited for
  });
}

TEST(EventSignal, ThatTheProgramHandles_IsRefused) {
  std::signal(SIGUSR2, SIG_IGN);
  run_one([](World& world) {
    Events events(world);
    try {
      events.fire_on_signal(SIGUSR2, shoal::self, "x");
      ADD_FAILURE() << "watched";
    } catch (const shoal::Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("signal 12"));
    }
    EXPECT_THROW(events.fire_on_signal(0, shoal::self, "x"), shoal::Error);
    EXPECT_THROW(events.fire_on_signal(1000, shoal::self, "x"), shoal::Error);
    world.wait();
  });
  std::signal(SIGUSR2, SIG_DFL);
}

TEST(EventMemory, AboveTheThreshold_Fires) {
  run_one([](World& world) {
    Events events(world);
    bool fired = false;
    events.submit({{shoal::self, "large"}}, [&] { fired = true; });
    events.fire_when_memory_above(1, shoal::self, "large");
    const std::uint64_t never = events.fire_when_memory_above(1UL << 60U, shoal::self, "never");
    EXPECT_TRUE(events.cancel(never));
    EXPECT_THROW(events.fire_when_memory_above(0, shoal::self, "x"), shoal::Error);
    world.wait();
    EXPECT_TRUE(fired);
  });
}

TEST(EventMemory, BelowTheThreshold_FiresNothingUntilMoreIsTouched) {
  run_one([](World& world) {
    constexpr std::size_t kMiB = std::size_t{1} << 20U;
    Events events(world);
    events.fire_when_memory_above(shoal::env::resident_bytes() + 64 * kMiB, shoal::self, "large");
    expect_nothing_fired(events, "large");
    const std::vector<char> touched(128 * kMiB, 'x');
    static_cast<void>(events.wait({{shoal::self, "large"}}));
    expect_nothing_fired(events, "large");
    EXPECT_EQ(touched.back(), 'x');
    world.wait();
  });
}

TEST(EventMachine, InASimulatedWorld_IsRefused) {
  SimulatedWorld simulated(sim_config(1, 1, 3));
  simulated.run([](World& world) {
    Events events(world);
    EXPECT_THAT(refusal_of([&] { events.fire_when_readable(0, shoal::self, "x"); }),
                AllOf(HasSubstr("descriptor 0"), HasSubstr("simulated")));
    EXPECT_THAT(refusal_of([&] { events.fire_on_signal(SIGUSR2, shoal::self, "x"); }),
                HasSubstr("simulated"));
    EXPECT_THAT(refusal_of([&] { events.fire_when_memory_above(1, shoal::self, "x"); }),
                HasSubstr("simulated"));
    world.wait();
    return 0;
  });
}

}  // namespace event_sources_test
