#include "term/scope_detection.hpp"

#include "term/scope_counts.hpp"
#include "term/scope_park.hpp"
#include "term/scope_stuck.hpp"
#include "term/scope_tree.hpp"

namespace shoal::term {

namespace {

// Called with the lock of the scope held.
class ScopeDetection final : public DetectorHost {
 public:
  explicit ScopeDetection(ScopeCore& scope) : scope_(scope) {}

  std::optional<Snapshot> snapshot() override SHOAL_REQUIRES(scope_.mutex) {
    return take_snapshot(scope_);
  }
  void send_report(Rank parent, const Report& report) override {
    send_control(scope_.channel(), scope_.control.report, parent, report);
  }
  void send_request(Rank child, const Request& request) override {
    send_control(scope_.channel(), scope_.control.request, child, request);
  }
  // After this, unless a wave fails, only messages of the next round come, some before this rank
  // knows that the round is over.
  void send_confirmation(Rank parent, const Confirmation& confirmation) override
      SHOAL_REQUIRES(scope_.mutex) {
    scope_.sources.tell_of_rest();
    send_control(scope_.channel(), scope_.control.confirmation, parent, confirmation);
  }
  void completed(const Counts& total) override SHOAL_REQUIRES(scope_.mutex) {
    const bool failed = scope_.failure.exists();
    // Only the world's scope decides that something is stuck: a team may wait for a task outside
    // it.
    if (!scope_.is_world() && total.unsatisfied > 0 && !failed) return;
    // A rank without the failure may continue when a nested team completes; it will report.
    if (failed && !total.failed) return;
    const bool is_final_word = total.unsatisfied == 0 || failed;
    if (is_final_word && scope_.completion_check) scope_.completion_check();
    scope_.sources.tell_of_rest();
    on_done(scope_, total.unsatisfied, total.all_final);
  }

 private:
  ScopeCore& scope_;
};

}  // namespace

std::unique_ptr<DetectorHost> make_detector_host(ScopeCore& scope) {
  return std::make_unique<ScopeDetection>(scope);
}

bool poll_detector(ScopeCore& scope) {
  // A hint is enough: the worker that parks the main function goes idle after it.
  const bool looks_parked = scope.looks_parked.load(std::memory_order_acquire);
  if (!looks_parked && (scope.is_world() || !scope.has_failed())) return false;
  const sync::Lock lock(scope.mutex);
  // Others may have left: a report would wait there for a team that does not come.
  if (!scope.is_world() && scope.all_final) return false;
  return scope.detector.on_idle();
}

bool poll_nested(ScopeCore& scope) {
  bool did = false;
  std::size_t index = 0;
  while (const std::shared_ptr<ScopeCore> inner = nested_at(scope, index)) {
    did = poll_nested(*inner) || did;
    did = poll_detector(*inner) || did;
    wake_waiter(*inner);
    wake_draining(*inner);
    if (has_ended(*inner)) {
      sweep(inner);
      did = true;
    } else {
      ++index;
    }
  }
  return did;
}

void on_done(ScopeCore& scope, std::uint64_t unsatisfied, bool all_final) {
  for (const Rank child : scope.children) {
    send_control(scope.channel(), scope.control.done, child, unsatisfied, all_final);
  }
  scope.all_final = all_final;
  scope.detector.begin_epoch();
  if (scope.failure.exists()) {
    finish_park(scope, Outcome::failed);
  } else if (unsatisfied == 0) {
    finish_park(scope, Outcome::done);
  } else {
    begin_stuck_report(scope);
  }
}

}  // namespace shoal::term
