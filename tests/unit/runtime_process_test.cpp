// Programs that change the process or its threads under a run.

#include <shoal/detail/base/sanitizers.hpp>
#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include "support/run_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <pthread.h>

#include <csignal>
#include <functional>
#include <string>
#include <vector>

namespace runtime_process_test {

using shoal::World;
using shoal::testing::run_with;
using shoal::testing::run_world;

void on_signal(int /*signal*/) {}
void on_signal_with_place(int /*signal*/, siginfo_t* /*info*/, void* /*context*/) {}

struct sigaction action_of(int signal) {
  struct sigaction now {};
  sigaction(signal, nullptr, &now);
  return now;
}

TEST(SignalHandlers, OfTheProgram_SetDuringARun_Stay) {
  const struct sigaction segv = action_of(SIGSEGV);
  const struct sigaction bus = action_of(SIGBUS);
  for (const char* const mode : {"--ranks=2", "--sim"}) {
    const int code = run_with({mode, "--workers", "2"}, [](World& world) {
      world.wait();
      if (world.rank() != 0) return;
      std::signal(SIGSEGV, &on_signal);
      struct sigaction with_place {};
      with_place.sa_sigaction = &on_signal_with_place;
      with_place.sa_flags = SA_SIGINFO;
      sigaction(SIGBUS, &with_place, nullptr);
    });
    EXPECT_EQ(code, 0);
    EXPECT_EQ(action_of(SIGSEGV).sa_handler, &on_signal);
    EXPECT_EQ(action_of(SIGBUS).sa_sigaction, &on_signal_with_place);
    sigaction(SIGSEGV, &segv, nullptr);
    sigaction(SIGBUS, &bus, nullptr);
  }
}

TEST(SignalHandlers, OfTheProgram_SetBeforeARun_AreThereAfterIt) {
  const struct sigaction segv = action_of(SIGSEGV);
  std::signal(SIGSEGV, &on_signal);
  EXPECT_EQ(run_world(1, 2, [](World& world) { world.wait(); }), 0);
  EXPECT_EQ(action_of(SIGSEGV).sa_handler, &on_signal);
  sigaction(SIGSEGV, &segv, nullptr);
}

using Program = std::function<void(World&)>;

class ThreadExitDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    if (shoal::kThreadSanitizer) GTEST_SKIP() << "it ends its threads in its own way";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
  static void expect_named(const Program& program, const std::string& who) {
    const std::string text =
        who + " called pthread_exit\\(\\), or its thread was cancelled.*rank 0";
    EXPECT_EXIT(run_world(1, 2, program), testing::ExitedWithCode(1), text);
    EXPECT_EXIT(run_with({"--sim", "--ranks", "1"}, program), testing::ExitedWithCode(1), text);
  }
};

[[noreturn]] void leave() { pthread_exit(nullptr); }

TEST_F(ThreadExitDeathTest, InATask_IsNamed) {
  expect_named(
      [](World& world) {
        world.spawn([] { leave(); }, {.name = "leaver"});
        world.wait();
      },
      "leaver");
}

TEST_F(ThreadExitDeathTest, InATaskWithAFuture_IsNamed) {
  expect_named([](World& world) { world.async([] { leave(); }, {.name = "leaver"}).get(); },
               "leaver");
}

TEST_F(ThreadExitDeathTest, InATaskOfAGroup_IsNamed) {
  expect_named(
      [](World&) {
        shoal::TaskGroup group;
        group.spawn([] { leave(); }, "leaver");
        group.wait();
      },
      "leaver");
}

TEST_F(ThreadExitDeathTest, InTasksOfModels_IsNamed) {
  expect_named(
      [](World& world) {
        shoal::TaskGraph<int> graph(world, "g");
        graph.set_indegree([](int) { return 1; })
            .set_mapping([](int) { return 0; })
            .set_task([](int) { leave(); });
        graph.fulfill(7);
        world.wait();
      },
      "g\\[7\\]");
  expect_named(
      [](World& world) {
        shoal::Events events(world);
        events.submit({}, [] { leave(); }, {.name = "leaver"});
        world.wait();
      },
      "leaver");
  expect_named(
      [](World& world) {
        shoal::Flow flow(world);
        flow.insert([] { leave(); });
        flow.wait();
      },
      "task\\(\\)");
}

TEST_F(ThreadExitDeathTest, InAHandler_IsNamed) {
  expect_named(
      [](World& world) {
        world.send(
            world.rank(), [](int) { leave(); }, 1);
        world.wait();
      },
      "a handler");
}

TEST_F(ThreadExitDeathTest, InACall_IsNamed) {
  expect_named(
      [](World& world) {
        static_cast<void>(world
                              .call(
                                  world.rank(), [](int x) { return x > 0 ? (leave(), 1) : 2; }, 1)
                              .get());
      },
      "");
}

TEST_F(ThreadExitDeathTest, InAMainFunction_IsNamed) {
  expect_named([](World&) { leave(); }, "the main function");
}

}  // namespace runtime_process_test
