#pragma once
// Runs a world in one thread, step by step in an order drawn from a seed: what happens once can be
// made to happen again, and a hang is an exception (env::NoProgress).

#include <shoal/base/error.hpp>
#include <shoal/env/env.hpp>
#include <shoal/net/transport.hpp>

#include "runtime/rank_runtime.hpp"

#include <cstdint>
#include <cstdlib>
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
};

/// How each rank's main function ended.
struct TurnResult {
  std::vector<int> exit_codes;
  std::vector<std::exception_ptr> errors;
};

inline TurnResult run_turns(const TurnOptions& options,
                            const runtime::MainFunction& main_function) {
  const std::unique_ptr<env::Env> env = env::make_turn_env(options.seed);
  const std::vector<std::string> args{"test"};
  net::Fabric fabric({options.ranks, options.ranks, 0}, options.link, nullptr);
  std::vector<std::unique_ptr<runtime::RankRuntime>> ranks;
  std::vector<env::Steppable*> all;
  for (int i = 0; i < options.ranks; ++i) {
    runtime::RankOptions rank;
    rank.scheduler.rank = Rank(i);
    rank.scheduler.worker_count = options.workers;
    rank.scheduler.stack_bytes = std::size_t{256} << 10;
    rank.messenger.rank = Rank(i);
    rank.args = args;
    ranks.push_back(std::make_unique<runtime::RankRuntime>(
        *env, fabric, rank, [](const std::string&) { std::abort(); }));
  }
  for (const auto& rank : ranks) {
    rank->start(main_function, [&scheduler = rank->scheduler()] { scheduler.request_stop(); });
    for (env::Steppable* worker : rank->scheduler().steppables()) all.push_back(worker);
  }
  env->drive(all);
  TurnResult result;
  for (const auto& rank : ranks) {
    result.exit_codes.push_back(rank->exit_code());
    result.errors.push_back(rank->error());
  }
  return result;
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
