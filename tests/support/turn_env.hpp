#pragma once
// An environment with one thread, for tests.

#include <shoal/detail/env/env.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace shoal::testing {

class NoParker final : public env::Parker {
 public:
  void park(std::uint64_t) override {}
  void unpark() override {}
};

/// Drives all steppables by turns, on one thread, in an order drawn from `seed`; time advances by
/// one microsecond per step. Parking is never used. For tests of protocols; not the simulator.
class TurnEnv final : public env::Env {
 public:
  explicit TurnEnv(std::uint64_t seed) : random_(seed) {}

  std::uint64_t now_ns() override { return now_ns_; }
  std::uint64_t random_seed() override { return random_(); }
  std::unique_ptr<env::Parker> make_parker() override { return std::make_unique<NoParker>(); }
  void yield() override {}

  void drive(const std::vector<env::Steppable*>& all) override {
    std::vector<env::Steppable*> live = all;
    std::uint64_t idle_steps = 0;
    while (!live.empty()) {
      const auto pick = static_cast<std::size_t>(random_() % live.size());
      const env::StepResult result = live[pick]->step();
      now_ns_ += 1000;
      if (result == env::StepResult::stopped) {
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(pick));
      }
      // Idle timers are bounded by milliseconds of virtual time, a step is a microsecond: many
      // idle turns of each in a row mean that nothing will ever happen.
      idle_steps = result == env::StepResult::idle ? idle_steps + 1 : 0;
      if (idle_steps > 20'000 + 2'000 * live.size()) throw env::NoProgress();
    }
  }

 private:
  std::mt19937_64 random_;
  std::uint64_t now_ns_ = 0;
};

inline std::unique_ptr<env::Env> make_turn_env(std::uint64_t seed) {
  return std::make_unique<TurnEnv>(seed);
}

}  // namespace shoal::testing
