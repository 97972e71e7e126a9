#include <shoal/when.hpp>

#include <atomic>

namespace shoal::sched {

namespace {

struct Gate {
  Function<void()> done;
  std::atomic<std::size_t> missing;
};

/// Waiter in the list of one future. Owns itself.
class GateWaiter final : public sync::Waiter {
 public:
  explicit GateWaiter(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}
  void wake() override {
    const std::unique_ptr<GateWaiter> self(this);
    // acq_rel: the last one sees the values of the others
    if (gate_->missing.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const Function<void()> done = std::move(gate_->done);
    done();
  }

 private:
  const std::shared_ptr<Gate> gate_;
};

}  // namespace

std::exception_ptr first_error(const FutureStates& futures) {
  std::exception_ptr first;
  for (const auto& future : futures) {
    const std::exception_ptr error = future->take_error();
    if (first == nullptr) first = error;
  }
  return first;
}

void ReadyGate::watch(const FutureStates& futures, std::size_t needed, Function<void()> done) {
  if (needed == 0) {
    done();
    return;
  }
  const auto gate = std::make_shared<Gate>(std::move(done), needed);
  for (const auto& future : futures) {
    auto* const waiter = new GateWaiter(gate);
    if (!future->enlist(*waiter)) waiter->wake();
  }
}

}  // namespace shoal::sched
