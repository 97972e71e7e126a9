// Names and lines about invocations, for reports, and violations that the check finds.

#include <shoal/detail/base/check.hpp>

#include "object/share.hpp"

#include <fmt/format.h>

namespace shoal::object {

std::string Share::name_of(const Runner& runner) const {
  const sync::Lock lock(mutex_);
  const Invocation* const invocation = runner.current_.load(std::memory_order_acquire);
  if (invocation == nullptr) return "invocations " + where_;
  return fmt::format("{} of object {}, invoked by {}", invocation->method(),
                     invocation->target().number, invocation->caller());
}

// --- term::Unsatisfied: invocations that wait for an object, or an epoch, of this rank

std::uint64_t Share::unsatisfied_count() const {
  const sync::Lock lock(mutex_);
  return queue_.blocked_count() + (scope_.failed() ? 0 : forwarded_);
}

std::vector<std::string> Share::describe_unsatisfied() const {
  constexpr std::size_t kLinesMax = 16;
  const sync::Lock lock(mutex_);
  std::vector<std::string> lines;
  for (const RunQueue::Context* const context : queue_.blocked()) {
    const Invocation& one = *context->waiting.first();
    const Target& target = one.target();
    const std::string why =
        target.number > last_number_
            ? "which is not made yet"
            : fmt::format("in epoch {}: this rank is in epoch {}", target.epoch, epoch());
    lines.push_back(
        fmt::format("invocation {} from {} waits for object {}, {}{}", one.method(), one.caller(),
                    target.number, why,
                    context->waiting.size() == 1
                        ? ""
                        : fmt::format(" ({} more behind it)", context->waiting.size() - 1)));
    if (lines.size() == kLinesMax) break;
  }
  if (forwarded_ > 0 && !scope_.failed()) {
    lines.push_back(fmt::format(
        "invocations by rank {} from before it had made the team have not come through rank 0: {}",
        scope_.rank().value(), forwarded_));
  }
  if (const Invocation* const one = queue_.example(); one != nullptr) {
    lines.push_back(
        fmt::format("invocations that wait for their turn, or for the end of an earlier one: {}; "
                    "one of them {} of object {} from {}",
                    queue_.size() - queue_.blocked_count(), one->method(), one->target().number,
                    one->caller()));
  }
  return lines;
}

// Representatives of the program refer to the share.
bool Share::run_ended() {
  const sync::Lock lock(mutex_);
  run_has_ended_ = true;
  return !entries_.empty();
}

// --- checks

void Share::check_begins(const Invocation& invocation) {
  std::string violation;
  {
    const sync::Lock lock(mutex_);
    violation = check_->begins(invocation, epoch());
  }
  fail_check(violation);
}

void Share::check_ends(const Invocation& invocation) {
  const sync::Lock lock(mutex_);
  check_->ends(invocation.target().context);
}

void Share::fail_check(const std::string& violation) {
  if (violation.empty() || scope_.failed()) return;
  scope_.fail(
      "the check of objects",
      std::make_exception_ptr(CheckError(fmt::format("objects {}: {}", where_, violation))));
}

}  // namespace shoal::object
