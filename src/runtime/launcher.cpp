#include "runtime/launcher.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <string_view>

namespace shoal::runtime {

namespace {

/// A launcher known by a pair of variables.
struct Signature {
  const char* launcher;
  const char* size;
  const char* rank;
  const char* unbind;  // options
  const char* mpi;     // that it belongs to; "": any
};

constexpr std::array<Signature, 3> signatures{{
    {"Open MPI (mpirun)", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
     "mpirun --bind-to none, or --bind-to core --map-by slot:PE=N for N cores each", "Open MPI"},
    {"MVAPICH (mpirun_rsh)", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK",
     "MV2_ENABLE_AFFINITY=0 in the environment", "MPICH"},
    {"a PMI launcher (mpiexec of MPICH or Intel MPI, srun --mpi=pmi2)", "PMI_SIZE", "PMI_RANK",
     "mpiexec -bind-to none with MPICH, I_MPI_PIN=off in the environment with Intel MPI, srun "
     "--cpu-bind=none with Slurm",
     ""},
}};
constexpr Signature slurm_step{"Slurm (srun)", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID",
                               "srun --cpu-bind=none, or --cpus-per-task=N for N processors each",
                               ""};
constexpr const char* pmix_rank = "PMIX_RANK";

std::optional<int> number(const Environment& env, const char* variable) {
  const std::optional<std::string> text = env.lookup(variable);
  if (!text) {
    return std::nullopt;
  }
  int value = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, value);
  return error == std::errc{} && rest == end && value >= 0 ? std::optional(value) : std::nullopt;
}

std::optional<LaunchInfo> match(const Environment& env, const Signature& signature) {
  const std::optional<int> size = number(env, signature.size);
  const std::optional<int> rank = number(env, signature.rank);
  if (!size || !rank || *size < 1 || *rank >= *size) {
    return std::nullopt;
  }
  return LaunchInfo{true,         *size, signature.launcher, signature.size, signature.unbind,
                    signature.mpi};
}

// Of MPICH and Intel MPI.
bool is_hydra(const Environment& env) {
  return env.lookup("HYDI_CONTROL_FD").has_value() || env.lookup("MPI_LOCALRANKID").has_value();
}

// A process without a launcher, in which Open MPI 4 has been initialized: it becomes a PMIx server,
// and leaves variables of one in its own environment.
bool is_singleton(const Environment& env) { return env.lookup("OMPI_MCA_ess") == "singleton"; }

// The shells that Slurm runs in steps by itself: for a batch script, and for salloc where
// the site asks for it (LaunchParameters=use_interactive_step). Numbers from slurm.h.
bool is_shell_of_slurm(const Environment& env) {
  const std::optional<std::string> step = env.lookup("SLURM_STEP_ID");
  return step == "4294967291" /* SLURM_BATCH_SCRIPT */ ||
         step == "4294967290" /* SLURM_INTERACTIVE_STEP */;
}

}  // namespace

LaunchInfo detect_launcher(const Environment& env) {
  for (const Signature& signature : signatures) {
    if (auto info = match(env, signature)) {
      if (info->mpi.empty() && is_hydra(env)) info->mpi = "MPICH";
      return *info;
    }
  }
  if (const auto info = match(env, slurm_step); info && !is_shell_of_slurm(env)) {
    return *info;
  }
  if (const std::optional<int> rank = number(env, pmix_rank); rank && !is_singleton(env)) {
    return {true,
            *rank + 1,
            "a PMIx launcher (prterun, srun --mpi=pmix)",
            pmix_rank,
            "prterun --bind-to none, or srun --cpu-bind=none",
            "",
            false};
  }
  return {};
}

std::string lone_process(const LaunchInfo& info, int seen_size, std::string_view mpi) {
  if (!info.launched || info.size <= 1 || seen_size != 1) return "";
  return fmt::format(
      "{} started {} processes ({}), but each would run the whole program alone: {}, the MPI that "
      "this process uses, finds a world of one, so it is not the MPI of that launcher. Use the "
      "launcher of that MPI, choose another one by --mpi-plugin if the program does not link it, "
      "or, under srun, choose a --mpi type that this MPI knows (`srun --mpi=list`). If this shell "
      "merely inherited the variable, unset {}.",
      info.launcher, info.size, info.variable, mpi, info.variable);
}

void check_not_launched(const LaunchInfo& info, bool has_communicator) {
  if (!has_communicator && info.size == 1) return;
  throw ConfigError(
      "--sim: a simulated world has all its ranks in one process: start the program without a "
      "launcher, with --sim --ranks N");
}

}  // namespace shoal::runtime
