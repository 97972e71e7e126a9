#pragma once
// The world as one rank sees it: the argument of the main function.

#include <shoal/machine.hpp>
#include <shoal/team.hpp>

#include <memory>
#include <span>
#include <string>

namespace shoal {

/// Kind of launch that has started the ranks of a world.
enum class Launch {
  embedded,   // all in this process
  mpi,        // in the processes of an MPI launch
  simulated,  // in virtual time, in one thread
};

/// Team of all ranks. One per rank; lives as long as the main functions run. **Errors**: CheckError
/// for a call after run() has returned.
class World : public Team {
 public:
  /// @cond internals
  /// Parts of the runtime that a world refers to. Not for programs.
  struct Parts {
    /// Arguments of the program.
    std::span<const std::string> args;
    /// Kind of launch that has started the ranks.
    Launch launch = Launch::embedded;
    /// Whether work with a declared cost is left out.
    bool dry = false;
    std::shared_ptr<const Machine> machine;  // not nullptr
  };

  /// Made by run(); programs do not make worlds.
  World(TeamCore& core, team::Collectives& collectives, const Parts& parts)
      : Team(core, collectives), parts_(parts) {}
  /// @endcond

  /// The program's own arguments, without shoal's; [0] is the program's name.
  [[nodiscard]] std::span<const std::string> args() const { return parts_.args; }
  /// Kind of launch that has started the ranks.
  [[nodiscard]] Launch launch() const { return parts_.launch; }
  /// Returns whether the world is simulated with --sim-dry: compute() skips its work, and payloads
  /// of large messages do not arrive in their buffers, so that programs need no memory for their
  /// data.
  [[nodiscard]] bool is_dry() const { return parts_.dry; }
  /// Places of all ranks; see Team::ranks_sharing().
  [[nodiscard]] const Machine& machine() const { return *parts_.machine; }
  /// Counters of this rank, in all teams.
  [[nodiscard]] Statistics statistics() const;
  /// Name of statistics() in 0.1.
  [[deprecated("its name is statistics()")]] [[nodiscard]] Statistics stats() const {
    return statistics();
  }
  /// Returns the team of a handle; nullptr if this rank is no member, the team does not exist on
  /// this rank yet, or it has ended on this rank. **Caller**: any thread. **Lifetime**: as long as
  /// the team.
  [[nodiscard]] Team* find(const TeamHandle& handle);

  /// @cond internals
  /// Called by run() when the workers have stopped: calls are refused from now on.
  void end_run();
  /// @endcond

 private:
  Parts parts_;
};

}  // namespace shoal
