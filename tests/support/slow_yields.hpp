#pragma once
// An environment beside other programs that compute.

#include <shoal/detail/env/env.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace shoal::testing {

/// Time that passes only while a thread yields.
class SlowYields final : public env::Env {
 public:
  std::uint64_t now_ns() override { return now_; }
  std::uint64_t random_seed() override { return 0; }
  std::unique_ptr<env::Parker> make_parker() override { return nullptr; }
  void yield() override {
    ++yields;
    now_ += yield_ns;
  }
  void drive(const std::vector<env::Steppable*>& /*all*/) override {}
  void pass(std::uint64_t ns) { now_ += ns; }

  std::uint64_t yield_ns = 0;
  int yields = 0;

 private:
  std::uint64_t now_ = 1;
};

}  // namespace shoal::testing
