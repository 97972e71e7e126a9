#pragma once
// Things of a team that may be left waiting.

#include <shoal/detail/base/function.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shoal {
class Team;
class TeamCore;
}  // namespace shoal

namespace shoal::team {

/// Function that fails a promise with the error of its team.
using GivenUp = Function<void(const std::exception_ptr&)>;

/// Object that may hold waiting work when nothing runs any more: a task graph, say.
class Unsatisfied {
 public:
  /// Returns the number of things that wait now. **Caller**: any thread.
  [[nodiscard]] virtual std::uint64_t unsatisfied_count() const = 0;
  /// Returns the number of things that may be under way as it ends. **Caller**: any thread.
  [[nodiscard]] virtual std::uint64_t open_count() const { return unsatisfied_count(); }
  /// Returns a few lines that name the things that wait.
  [[nodiscard]] virtual std::vector<std::string> describe_unsatisfied() const = 0;
  /// Called when no task runs and no message is in flight: a wait() may be about to return. A lock
  /// of the team is held.
  virtual void at_rest() {}
  /// Called when `failed` has failed: moves out each of its promises that nothing may fulfil any
  /// more, so that the caller fails them. A lock of a team is held.
  virtual void give_up(const TeamCore& /*failed*/, std::vector<GivenUp>& /*promises*/) {}
  /// Called before tasks of this rank run in attempts, perhaps more than once: calls that change
  /// the source look for an attempt from now on, which withholds or refuses them. Any thread; a
  /// lock of a team may be held.
  virtual void attempts_begin() {}
  /// It ends: messages for it are errors from now on, and none of its handlers runs on return; see
  /// TeamCore::close_handlers(). Called first as it ends, by TeamCore::remove().
  virtual void close_handlers() {}
  /// It was used since at_rest() was last called, so tasks may use it. Asked as it ends.
  [[nodiscard]] virtual bool is_in_use() const { return false; }
  /// Returns its name, such as "task graph 'g'", for the error when it ends too early.
  [[nodiscard]] virtual std::string title() const { return "a part of shoal"; }
  /// Called when the run has ended: refuses calls from now on. Returns false if it is a part of
  /// shoal, which ends with the rank.
  virtual bool run_ended() { return false; }

 protected:
  ~Unsatisfied() = default;
};

/// Throws CheckError: `what` was used after its run() has returned.
[[noreturn]] void refuse_after_run(const std::string& what);

/// Sources of what waits in a team on one rank, and the teams that launch_team() has made of it
/// there. Guarded by the lock of the team.
class Sources {
 public:
  void add(Unsatisfied& source) { sources_.push_back(&source); }
  void remove(Unsatisfied& source) { std::erase(sources_, &source); }
  void add(Team& launched) { teams_.push_back(&launched); }
  void remove(Team& launched) { std::erase(teams_, &launched); }

  [[nodiscard]] bool empty() const { return sources_.empty(); }
  /// Returns the number of things that wait, without the launched teams, for which only the end of
  /// the team waits.
  [[nodiscard]] std::uint64_t count() const;
  [[nodiscard]] std::uint64_t launched_team_count() const { return teams_.size(); }
  /// Lines about waiting things; about launched teams as well, if their end is waited for.
  void describe(bool with_launched_teams, std::vector<std::string>& lines) const;
  void tell_of_rest() const;
  void tell_of_attempts() const;
  /// Keeps memory that handlers and tasks may still use.
  void keep(std::shared_ptr<const void> memory) { kept_.push_back(std::move(memory)); }
  /// Removes what is kept and returns it.
  [[nodiscard]] std::vector<std::shared_ptr<const void>> take_kept() {
    return std::exchange(kept_, {});
  }
  /// Called when the run has ended. Returns whether a source belongs to the program, and will end
  /// later.
  [[nodiscard]] bool tell_of_end() const;
  void give_up(const TeamCore& failed, std::vector<GivenUp>& promises) const;
  /// Removes the launched teams and returns them.
  [[nodiscard]] std::vector<Team*> take_launched_teams() { return std::exchange(teams_, {}); }

 private:
  std::vector<Unsatisfied*> sources_;
  std::vector<Team*> teams_;
  std::vector<std::shared_ptr<const void>> kept_;  // until the team is at rest
};

}  // namespace shoal::team
