#pragma once
// Drives the engine on a thread of its own.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/env/env.hpp>

#include <atomic>

#include "net/mpi/mpi_engine.hpp"
#include "net/mpi/mpi_rest.hpp"

namespace shoal::net {

class MpiProgress final : public env::Steppable {
 public:
  MpiProgress(MpiEngine& engine, env::Env& env)
      : engine_(engine), parker_(env.make_parker()), rest_(env) {}

  env::StepResult step() override;
  void run() override;
  [[nodiscard]] std::string name() const override { return "shoal mpi"; }
  [[nodiscard]] std::string purpose() const override { return "the progress of MPI"; }

  /// Makes the thread stop soon. **Caller**: any thread.
  void request_stop();
  /// Called when the engine has work to do, or has failed. **Caller**: any thread.
  void wake();
  /// Called, on the thread that drives this, when the engine has failed.
  void set_failure_waker(Function<void()> waker) { failure_waker_ = std::move(waker); }

 private:
  void rest();

  MpiEngine& engine_;
  std::unique_ptr<env::Parker> parker_;
  MpiRest rest_;
  Function<void()> failure_waker_;
  // seq_cst, both: the parking thread raises parked_ and then looks for work; the others add work
  // and then look at parked_.
  std::atomic<bool> parked_{false};
  std::atomic<bool> stop_{false};
};

}  // namespace shoal::net
