#pragma once
// MPI from its start to its end, over all worlds of this process.

#include <cstdint>

#include "net/mpi/mpi_plugin.hpp"

namespace shoal::net {

/// A process has one MPI, which is loaded when a world needs it. It can be initialized once, and
/// not again after it was finalized. So the first world initializes it, unless the program has, and
/// it is finalized when the process exits: std::exit(), or the end of main(). An exit in the middle
/// of a world, or after one that ended in an error of the transport, leaves it as it is: the other
/// processes may never come, and the launcher ends them.
///
/// Caller: the thread that runs the world.
class MpiLifetime {
 public:
  MpiLifetime(const MpiLifetime&) = delete;
  MpiLifetime& operator=(const MpiLifetime&) = delete;
  ~MpiLifetime() = default;

  /// Lifetime of MPI in this process.
  static MpiLifetime& of_process();

  /// The MPI of this process, found and loaded by the first call. Errors: ConfigError, which says
  /// where it was looked for.
  const MpiTable& load(const MpiChoice& choice);
  /// Returns the MPI that was loaded; nullptr if there is none.
  [[nodiscard]] const MpiTable* loaded() const { return mpi_; }
  /// Returns whether MPI is loaded, initialized and not finalized, so that it may be called.
  [[nodiscard]] bool is_up() const;
  /// Returns whether initialize() has initialized MPI.
  [[nodiscard]] bool is_ours() const { return is_ours_; }

  /// Initializes MPI; returns the thread level that it grants. Collective over the launch.
  int initialize(int wanted_level);
  /// Once MPI is up: makes MPI_Finalize and exit() in the middle of a world an error of one
  /// sentence.
  void watch_end();
  /// Called before a world of all processes of the launch, if is_ours(). Collective over these
  /// processes. Errors: ConfigError in all processes when one of them exits instead.
  void agree_to_go_on();
  /// A world uses MPI from here to one of the other two. `exit_timeout_ns`: see MpiOptions; the
  /// last world's is used.
  void world_begins(int process, std::uint64_t exit_timeout_ns) {
    phase_ = Phase::in_world;
    process_ = process;
    exit_timeout_ns_ = exit_timeout_ns;
  }
  void world_ends() { phase_ = Phase::between_worlds; }
  /// Called when a world ends in an error of the transport: MPI may not be finalized any more.
  void world_fails() { phase_ = Phase::failed; }

 private:
  enum class Phase { between_worlds, in_world, failed };

  MpiLifetime() = default;
  void at_exit(int code);
  void on_finalize() const;
  /// Returns whether all processes continue. Collective.
  [[nodiscard]] bool all_go_on(bool this_one) const;

  const MpiTable* mpi_ = nullptr;  // written once
  bool is_ours_ = false;
  bool watches_end_ = false;
  Phase phase_ = Phase::between_worlds;
  int process_ = 0;      // number of this one, of the communicator of the last world
  bool parted_ = false;  // a process has exited, or does so now
  int process_id_ = 0;   // of the process that uses MPI, as the system knows it
  std::uint64_t exit_timeout_ns_ = 0;
};

}  // namespace shoal::net
