#include "runtime/program_phase.hpp"

#include "env/host.hpp"
#include "runtime/end_report.hpp"

#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/error.hpp>

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace shoal::runtime {

namespace {

/// Phase of the process. Constructors of global objects run in the order of the linked files, so
/// those of a library run after those of the program; destructors and exit handlers run in the
/// reverse order. So this is `main` after the program's constructors, and before its destructors.
enum class Phase { before_main, main, after_main };

struct AtExit {
  sync::Mutex mutex;
  sync::List<LossAtExit, &LossAtExit::link> losses SHOAL_GUARDED_BY(mutex);
};
AtExit& at_exit_state() {
  static auto* const state = new AtExit;  // destructors of globals may come later than any other
  return *state;
}

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the process's
constinit std::atomic<Phase> g_phase{Phase::before_main};
constinit std::atomic<int> g_losses_process{0};  // that has them: a fork has none

void at_exit(int code, void* /*unused*/) {
  g_phase = Phase::after_main;
  if (g_losses_process != env::process_id()) return;
  bool is_lost = false;
  {
    AtExit& state = at_exit_state();
    const sync::Lock lock(state.mutex);
    for (const LossAtExit* one = state.losses.first(); one != nullptr && !is_lost;
         one = state.losses.next(*one)) {
      is_lost = one->report();
    }
  }
  if (!is_lost) return;
  g_losses_process = 0;  // said once
  std::fflush(nullptr);
  if (code % 256 == 0) std::_Exit(1);
}
bool note_exit() { return on_exit(&at_exit, nullptr) == 0; }

[[maybe_unused]] const bool g_phase_begins = [] {
  g_phase = Phase::main;
  return note_exit();
}();
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

void check_in_main(std::string_view what) {
  const Phase phase = g_phase;
  if (phase == Phase::before_main) {
    throw ConfigError(fmt::format(
        "{} before main(), by the constructor of a global object: do it in main()", what));
  }
  if (phase == Phase::after_main) {
    throw ConfigError(
        fmt::format("{} after the end of main(), by the destructor of a global object or an exit "
                    "handler: do it in main()",
                    what));
  }
  // Once more, for exit handlers of the program that are there already: they come after this one,
  // and after the destructors of what a run has made.
  [[maybe_unused]] static const bool is_noted = note_exit();
}

LossAtExit::LossAtExit(const char* text, Function<bool()> has_work)
    : text_(text), has_work_(std::move(has_work)) {
  g_losses_process = static_cast<int>(env::process_id());
  AtExit& state = at_exit_state();
  const sync::Lock lock(state.mutex);
  state.losses.push_back(*this);
}

LossAtExit::~LossAtExit() {
  AtExit& state = at_exit_state();
  const sync::Lock lock(state.mutex);
  state.losses.erase(*this);
}

bool LossAtExit::report() const noexcept {
  if (!has_work_()) return false;
  const std::string where =
      sched::on_worker()
          ? fmt::format(", on rank {}", sched::current_scheduler("exit()").rank().value())
          : "";
  say("error: " + fmt::format(fmt::runtime(text_), where));
  return true;
}

}  // namespace shoal::runtime
