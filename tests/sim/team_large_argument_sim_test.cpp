// Arguments around the size from which they travel apart, between simulated processes and within
// one: order, content, counts and failures do not depend on the size.

#include "runtime/simulated_world.hpp"

#include "support/large_arguments.hpp"
#include "support/run_world.hpp"
#include "support/sim_config.hpp"
#include "support/sizes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#if defined(SHOAL_ASAN)
#include <sanitizer/lsan_interface.h>
#endif

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace team_large_argument_sim_test {

using shoal::Rank;
using shoal::World;
using shoal::runtime::Config;
using shoal::runtime::SimulatedWorld;
using shoal::testing::large_values;
using shoal::testing::run_large_arguments;
using shoal::testing::run_world;
using shoal::testing::sim_config;
using shoal::testing::sized;
using testing::HasSubstr;

Config config_of(std::uint64_t seed) {
  Config config = sim_config(4, 1 + static_cast<int>(seed % 2), seed);
  if (seed % 4 < 2) config.ranks_per_process = 2;
  if (seed % 3 == 0) {
    config.packet_bytes = 256;
    config.window_bytes = 256;
  }
  return config;
}

/// The first error of any rank, or "".
std::string error_of(const Config& config, const std::function<int(World&)>& program) {
  SimulatedWorld world(config);
  if (!config.sim_faults.empty()) world.keep_log(100, true);  // reads packets before their checks
  try {
    world.run(program);
  } catch (const shoal::TransportError& error) {
    return error.what();
  }
  for (const auto& rank : world.ranks()) {
    if (rank->error() != nullptr) return shoal::describe(rank->error());
  }
  return "";
}

TEST(LargeArgument, OfRandomSizes_ArriveInOrder_InManyOrders) {
  constexpr std::uint64_t kSeeds = sized(200, 3);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Config config = config_of(seed);
    if (seed % 5 == 0) config.sim_faults = "delay:p=0.3,by=200us;pause:rank=1,at=30us,for=2ms";
    const std::string error = error_of(config, [seed](World& world) {
      EXPECT_EQ(run_large_arguments(world, seed, 8), "") << "seed " << seed;
      return 0;
    });
    ASSERT_EQ(error, "") << "seed " << seed;
  }
}

TEST(LargeArgument, OfRandomSizes_ArriveInOrder_BetweenThreads) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    EXPECT_EQ(
        run_world(3, 2,
                  [seed](World& world) { EXPECT_EQ(run_large_arguments(world, seed, 12), ""); }),
        0);
  }
}

/// How many messages of each size arrive, and what is thrown.
std::string failing_program(std::uint64_t seed, std::size_t count) {
  return error_of(config_of(seed), [count](World& world) {
    const auto am = world.make_am(
        [](int number, const std::vector<double>& values) {
          if (number == 3 && values == large_values<double>(0, 3, values.size())) {
            throw std::runtime_error("this message is refused");
          }
        },
        {.name = "refuses"});
    for (int number = 0; number < 6; ++number) {
      am.send(Rank((world.rank() + 1) % world.size()), number,
              large_values<double>(0, number, count));
    }
    world.wait();
    return 0;
  });
}

TEST(LargeArgument, HandlerThatThrows_FailsTheWorld_AtEverySize) {
  for (std::uint64_t seed = 1; seed < sized(60, 20); ++seed) {
    for (const std::size_t count : {std::size_t{10}, std::size_t{2047}, std::size_t{40'000}}) {
      EXPECT_THAT(failing_program(seed, count), HasSubstr("this message is refused"))
          << "seed " << seed << ", " << count;
    }
  }
}

// Rank 0 makes its handler only after it was stuck.
TEST(LargeArgument, BeforeItsHandler_Waits_AtEverySize) {
  for (std::uint64_t seed = 1; seed < sized(60, 20); ++seed) {
    for (const std::size_t count : {std::size_t{10}, std::size_t{40'000}}) {
      int arrived = 0;
      const std::string error = error_of(config_of(seed), [&](World& world) {
        const auto make = [&] {
          return world.make_am(
              [&](int number, const std::vector<double>& values) {
                if (values == large_values<double>(0, number, count)) ++arrived;
              },
              {.name = "late"});
        };
        std::optional<decltype(make())> am;
        if (world.rank() != 0) {
          am.emplace(make());
          am->send(Rank(0), 1, large_values<double>(0, 1, count));
          world.multicast(shoal::RankSet::range(Rank(0), 1), *am, 2,
                          large_values<double>(0, 2, count));
        }
        EXPECT_THROW(world.wait(), shoal::StuckError);
        if (world.rank() == 0) am.emplace(make());
        world.wait();
        return 0;
      });
      EXPECT_EQ(error, "");
      EXPECT_EQ(arrived, 2 * 3) << "seed " << seed << ", " << count;
    }
  }
}

/// A world that a fault ends in the middle abandons what was under way, as an abort of MPI does.
class LargeArgumentFaults : public testing::Test {
#if defined(SHOAL_ASAN)
  __lsan::ScopedDisabler abandons_memory_;
#endif
};

TEST_F(LargeArgumentFaults, Damage_IsDetected) {
  int detected = 0;
  for (std::uint64_t seed = 1; seed < sized(100, 8); ++seed) {
    Config config = config_of(seed);
    config.ranks_per_process = 1;
    config.sim_faults = "corrupt:n=" + std::to_string(seed % 23);
    const std::string error = error_of(config, [seed](World& world) {
      static_cast<void>(run_large_arguments(world, seed, 3));
      return 0;
    });
    EXPECT_THAT(error, HasSubstr("corrupt packet")) << "seed " << seed;
    if (error.find("corrupt packet") != std::string::npos) ++detected;
  }
  EXPECT_GT(detected, 0);
}

}  // namespace team_large_argument_sim_test
