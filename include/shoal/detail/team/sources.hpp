#pragma once
// Things of a scope that may be left waiting.

#include <shoal/detail/base/function.hpp>

#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace shoal::term {

class Scope;

/// Function that fails a promise with the error of its scope.
using GivenUp = Function<void(const std::exception_ptr&)>;

/// Object that may hold waiting work when nothing runs any more: a task graph, say.
class Unsatisfied {
 public:
  /// Returns the number of things that wait now. **Caller**: any thread.
  [[nodiscard]] virtual std::uint64_t unsatisfied_count() const = 0;
  /// Returns a few lines that name the things that wait.
  [[nodiscard]] virtual std::vector<std::string> describe_unsatisfied() const = 0;
  /// Called when no task runs and no message is in flight: a wait() may be about to return. A lock
  /// of the scope is held.
  virtual void at_rest() {}
  /// Called when `failed` has failed: moves out each of its promises that nothing may fulfil any
  /// more, so that the caller fails them. A lock of a scope is held.
  virtual void give_up(const Scope& /*failed*/, std::vector<GivenUp>& /*promises*/) {}
  /// It ends: messages for it are errors from now on, and none of its handlers runs on return; see
  /// Channel::close_handlers(). Called first as it ends, by Scope::remove().
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

/// A team that one rank has made, on one member.
class SharedTeam {
 public:
  /// Returns a line of a report on a team that has not ended: its name, and how it ends.
  [[nodiscard]] virtual std::string describe() const = 0;
  /// Called when the rank has ended, after an error that named the team: destroys its remaining
  /// parts.
  virtual void rank_ended() = 0;

 protected:
  ~SharedTeam() = default;
};

/// Sources of what waits in a scope on one rank. Guarded by the lock of the scope.
class Sources {
 public:
  void add(Unsatisfied& source) { sources_.push_back(&source); }
  void remove(Unsatisfied& source) { std::erase(sources_, &source); }
  void add(SharedTeam& team) { teams_.push_back(&team); }
  void remove(SharedTeam& team) { std::erase(teams_, &team); }

  [[nodiscard]] bool empty() const { return sources_.empty(); }
  /// Returns the number of things that wait, without the shared teams, for which only the end of
  /// the scope waits.
  [[nodiscard]] std::uint64_t count() const;
  [[nodiscard]] std::uint64_t shared_team_count() const { return teams_.size(); }
  /// Lines about waiting things; about shared teams as well, if their end is waited for.
  void describe(bool with_shared_teams, std::vector<std::string>& lines) const;
  void tell_of_rest() const;
  /// Called when the run has ended. Returns whether a source belongs to the program, and will end
  /// later.
  [[nodiscard]] bool tell_of_end() const;
  void give_up(const Scope& failed, std::vector<GivenUp>& promises) const;
  /// Removes the shared teams and returns them.
  [[nodiscard]] std::vector<SharedTeam*> take_shared_teams() { return std::exchange(teams_, {}); }

 private:
  std::vector<Unsatisfied*> sources_;
  std::vector<SharedTeam*> teams_;
};

}  // namespace shoal::term
