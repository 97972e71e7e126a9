#pragma once
// The world as one rank sees it: what the main function is given.

#include <shoal/runtime/team.hpp>

#include <span>
#include <string>

namespace shoal {

/// How the ranks of a world were started.
enum class Launch {
  embedded,   // all in this process
  mpi,        // in the processes of an MPI launch
  simulated,  // in virtual time, in one thread
};

/// Team of all ranks. One per rank; lives as long as the main functions run.
class World : public Team {
 public:
  struct Parts {
    term::Scope* scope = nullptr;
    coll::Collectives* collectives = nullptr;
    runtime::PromiseTable* promises = nullptr;
    std::span<const std::string> args;
    Launch launch = Launch::embedded;
    bool dry = false;
  };

  explicit World(const Parts& parts)
      : Team(Team::Parts{parts.scope, parts.collectives, parts.promises}), parts_(parts) {}

  /// The program's own arguments, without shoal's; [0] is the program's name.
  [[nodiscard]] std::span<const std::string> args() const { return parts_.args; }
  [[nodiscard]] Launch launch() const { return parts_.launch; }
  /// The world is simulated with --sim-dry: what is given to compute() is not done, and payloads of
  /// large messages do not arrive in their buffers. Programs need no memory for their data.
  [[nodiscard]] bool is_dry() const { return parts_.dry; }
  /// Of this rank, in all teams.
  [[nodiscard]] Stats stats() const;

 private:
  const Parts parts_;
};

template <class Handler, class... Args>
void Team::send_to(int world_rank, Handler handler, Args&&... args) {
  const Rank member = rank_of(Rank(world_rank));
  if (member >= 0) {
    send(handler, member, std::forward<Args>(args)...);
  } else {
    world_of(*this).send(handler, Rank(world_rank), std::forward<Args>(args)...);
  }
}

}  // namespace shoal
