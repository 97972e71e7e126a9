#pragma once
// Runs a simulated world: what happens once can be made to happen again, and a hang is an
// exception.

#include <shoal/detail/net/transport.hpp>
#include <shoal/error.hpp>

#include <gtest/gtest.h>

#include "runtime/simulated_world.hpp"
#include "support/sim_config.hpp"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shoal::testing {

struct TurnOptions {
  std::uint64_t seed = 0;
  int ranks = 1;
  int workers = 1;
  net::LinkOptions link{};
  int ranks_per_process = 0;  // 0: one or all, as the seed chooses
};

/// How each rank's main function ended.
struct TurnResult {
  std::vector<int> exit_codes;
  std::vector<std::exception_ptr> errors;
};

/// In an order, with one process per rank or one for all, and with delays, as the seed chooses.
inline TurnResult run_turns(const TurnOptions& options,
                            const runtime::MainFunction& main_function) {
  constexpr std::uint64_t kOrders = 6;
  runtime::Config config = sim_config(options.ranks, options.workers, options.seed);
  config.packet_bytes = options.link.packet_bytes;
  config.window_bytes = options.link.window_bytes;
  config.sim_order = static_cast<sim::OrderKind>(options.seed % kOrders);
  config.ranks_per_process = options.ranks_per_process;
  if (config.ranks_per_process == 0) {
    config.ranks_per_process = options.seed / kOrders % 2 == 0 ? 1 : options.ranks;
  }
  if (options.seed / kOrders % 3 == 0) {  // nothing that changes a result
    config.sim_faults = "delay:p=0.1,by=100us;delay:p=0.01,by=10ms;pause:rank=0,at=50us,for=1ms";
  }
  runtime::SimulatedWorld world(config);
  world.run(main_function);
  TurnResult result;
  for (const auto& rank : world.ranks()) {
    result.exit_codes.push_back(rank->exit_code());
    result.errors.push_back(rank->error());
  }
  return result;
}

/// Runs `program` in the orders of this many seeds: no rank fails in any.
inline void run_seeds(std::uint64_t seeds, int ranks, int workers,
                      const std::function<void(World&)>& program) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(seed);
    const auto result =
        run_turns({.seed = seed, .ranks = ranks, .workers = workers}, [&](World& world) {
          program(world);
          return 0;
        });
    for (const std::exception_ptr& error : result.errors) {
      ASSERT_EQ(error, nullptr) << shoal::describe(error);
    }
  }
}

/// Runs `program` on one rank with one worker; what it or its tasks threw, or "".
inline std::string error_of(const std::function<void(World&)>& program) {
  const TurnResult result = run_turns({.seed = 1, .ranks = 1, .workers = 1}, [&](World& world) {
    program(world);
    return 0;
  });
  return result.errors[0] == nullptr ? "" : describe(result.errors[0]);
}

}  // namespace shoal::testing
