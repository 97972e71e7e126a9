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

/// Gives a promise the failure of its scope.
using GivenUp = Function<void(const std::exception_ptr&)>;

/// Something that may be left waiting when nothing runs any more: a task graph.
class Unsatisfied {
 public:
  /// How many wait now. Any thread.
  [[nodiscard]] virtual std::uint64_t unsatisfied_count() const = 0;
  /// A few lines that name them.
  [[nodiscard]] virtual std::vector<std::string> describe_unsatisfied() const = 0;
  /// Nothing runs or travels any more: a wait() may be about to return. With a lock of the scope
  /// held.
  virtual void at_rest() {}
  /// `failed` has failed: moves out each promise of it that nothing may fulfil any more, to be
  /// given the failure. With a lock of a scope held.
  virtual void give_up(const Scope& /*failed*/, std::vector<GivenUp>& /*promises*/) {}
  /// It ends: messages for it are errors from now on, and none of its handlers runs on return; see
  /// Channel::close_handlers(). Called first as it ends, by Scope::remove().
  virtual void close_handlers() {}
  /// It was used since at_rest() was last called, so tasks may use it. Asked as it ends.
  [[nodiscard]] virtual bool is_in_use() const { return false; }
  /// "task graph 'g'", for the error when it ends too early.
  [[nodiscard]] virtual std::string title() const { return "a part of shoal"; }
  /// The run has ended, and this is still there: refuses calls from now on. False: it is a part of
  /// shoal, and ends with the rank.
  virtual bool run_ended() { return false; }

 protected:
  ~Unsatisfied() = default;
};

/// Throws CheckError: `what` was used after its run() has returned.
[[noreturn]] void refuse_after_run(const std::string& what);

/// A team that one rank has made, on one member.
class SharedTeam {
 public:
  /// Line of a report about a team that has not ended: its name, and what ends it.
  [[nodiscard]] virtual std::string describe() const = 0;
  /// The rank has ended, after an error that named the team. Its remaining parts end here.
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
  /// Without the shared teams, which only the end of the scope waits for.
  [[nodiscard]] std::uint64_t count() const;
  [[nodiscard]] std::uint64_t shared_team_count() const { return teams_.size(); }
  /// Lines about waiting things; about shared teams as well, if their end is waited for.
  void describe(bool with_shared_teams, std::vector<std::string>& lines) const;
  void tell_of_rest() const;
  /// The run has ended. True: a source belongs to the program, and will end later.
  [[nodiscard]] bool tell_of_end() const;
  void give_up(const Scope& failed, std::vector<GivenUp>& promises) const;
  /// Takes the shared teams out.
  [[nodiscard]] std::vector<SharedTeam*> take_shared_teams() { return std::exchange(teams_, {}); }

 private:
  std::vector<Unsatisfied*> sources_;
  std::vector<SharedTeam*> teams_;
};

}  // namespace shoal::term
