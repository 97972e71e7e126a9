// The world's scope: its main function, and what the other parts of the rank tell it.

#include <shoal/detail/term/scope.hpp>

#include "am/messenger.hpp"
#include "term/scope_detection.hpp"
#include "term/scope_failure.hpp"
#include "term/scope_main.hpp"
#include "term/scope_tree.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace shoal::term {

/// Listener of the rank's scheduler and messenger.
class WorldScope::Listener final : public sched::IdleListener, public messaging::TeamListener {
 public:
  explicit Listener(ScopeCore& world) : world_(world) {}

  bool on_idle() override {
    const bool did = world_.teams.had_nested.load(std::memory_order_acquire) && poll_nested(world_);
    return poll_detector(world_) || did;
  }
  bool on_busy() override { return poll_nested(world_); }
  void on_unknown_team(std::uint64_t team, Rank source) override {
    send_about(world_.messenger(), world_.control.ask, source, team);
  }
  void acknowledge(Rank sender, std::uint64_t team, std::uint64_t count) override {
    send_counted(world_.channel(), world_.control.acknowledged, sender, team, count);
  }

 private:
  ScopeCore& world_;
};

WorldScope::WorldScope(messaging::Messenger& messenger)
    : Scope(messenger), listener_(std::make_unique<Listener>(core())) {
  channel().open();
  scheduler().set_scope(*this);
  messenger.set_team_listener(*listener_);
  scheduler().set_idle_listener(*listener_);
}

WorldScope::~WorldScope() = default;

void WorldScope::set_checks_graphs(bool checks) {
  core().checks_graphs = checks;
  channel().number_handlers(checks);
}

void WorldScope::set_completion_check(Function<void()> check) {
  core().completion_check = std::move(check);
}

bool WorldScope::had_nested() const {
  return core().teams.had_nested.load(std::memory_order_acquire);
}

// --- the main function

void WorldScope::wait_for_end() { term::wait_for_end(core()); }

void WorldScope::end_before_unwinding(FunctionRef<std::string()> text) {
  end_all(core(), text, "its unwinding, after the end of all tasks that may use its stack");
}

void WorldScope::end_without_memory(FunctionRef<std::string()> text) noexcept {
  std::string all;
  try {
    all = fmt::format(
        "rank {}: the main function failed: {}; the process ends at once, since shoal may have "
        "been "
        "in the middle of a change: ask for less memory, or catch this in the main function",
        rank().value(), text());
  } catch (...) {  // there is no memory for that
    messenger().end_at_once(core().out_of_memory);
  }
  messenger().end_at_once(all);
}

bool WorldScope::end_run() {
  ScopeCore& world = core();
  world.run_has_ended.store(true, std::memory_order_release);
  channel().end_run();
  bool is_used = channel().handlers().live_count() > 0;
  {
    const sync::Lock lock(world.mutex);
    is_used = world.sources.tell_of_end() || is_used;
  }
  return is_used || !nested_in(world).empty();
}

// Handlers may do what it waits for.
void WorldScope::main_polls() { open_all_handlers(core()); }

void WorldScope::main_parks() {
  open_all_handlers(core());
  const sync::Lock lock(core().mutex);
  core().member.begin_own_wait();
}

// The task that wakes the main function has not finished yet, so every snapshot sees that something
// runs.
void WorldScope::main_goes_on() {
  const sync::Lock lock(core().mutex);
  core().member.end_own_wait();
}

// Throws the outcome for which the main function was taken out of its wait, even if the world has
// failed since: all ranks throw the same.
void WorldScope::throw_to_main() {
  const bool is_stuck = [this] {
    const sync::Lock lock(core().mutex);
    return core().member.outcome() == Outcome::stuck;
  }();
  if (is_stuck) throw_stuck(core());
  throw_failure(core());
}

}  // namespace shoal::term
