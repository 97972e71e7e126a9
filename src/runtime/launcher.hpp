#pragma once
// Launcher that started this process, if any, and whether the world it promised exists.

#include "runtime/config.hpp"

#include <string>
#include <string_view>

namespace shoal::runtime {

/// Launch of this process according to its environment.
struct LaunchInfo {
  bool launched = false;
  int size = 1;  // processes of the launch; where only a rank is known, the least it implies
  std::string launcher;  // for people: "Open MPI (mpirun)"; empty when not launched
  std::string variable;  // the environment variable that said so; empty when not launched
  std::string unbind{};  // how to make it bind processes to more processors
  std::string mpi{};     // that it belongs to: "Open MPI" or "MPICH"; empty: any
  bool size_is_known = true;
};

/// Recognizes Open MPI, MVAPICH, PMI (MPICH, Intel MPI, srun --mpi=pmi2), PMIx and Slurm's srun, in
/// that order: mpirun inside a Slurm job starts its own daemons by srun, and its number is the one
/// that counts. PMI and PMIx are spoken by several MPIs: only Hydra, MPICH's launcher, says more.
///
/// A size without the rank beside it, or one that is no number, is no launch. Within a Slurm
/// allocation but outside a step, that is in a shell of salloc or a script of sbatch, nothing was
/// launched, although SLURM_NTASKS (both) and SLURM_PROCID (sbatch) are set: only srun sets
/// SLURM_STEP_NUM_TASKS.
/// **Source**: srun(1), sbatch(1), salloc(1), OUTPUT ENVIRONMENT VARIABLES, Slurm 22.05;
/// open-mpi/ompi pull request 10289 for what goes wrong without.
LaunchInfo detect_launcher(const Environment& env);

/// Reason why this process is one of N that do not see each other, if the launcher started several
/// and the world of `mpi`, the name of an MPI, has one: `seen_size`. Else "".
std::string lone_process(const LaunchInfo& info, int seen_size, std::string_view mpi);

/// Refuses to simulate in one of several processes, or in a communicator of the program.
/// Errors: ConfigError.
void check_not_launched(const LaunchInfo& info, bool has_communicator);

}  // namespace shoal::runtime
