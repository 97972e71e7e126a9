#include "runtime/launcher.hpp"

#include <shoal/base/error.hpp>

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
};

constexpr std::array<Signature, 3> signatures{{
    {"Open MPI (mpirun)", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
     "mpirun --bind-to none, or --bind-to core --map-by slot:PE=N for N cores each"},
    {"MVAPICH (mpirun_rsh)", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK",
     "MV2_ENABLE_AFFINITY=0 in the environment"},
    {"a PMI launcher (mpiexec of MPICH or Intel MPI, srun --mpi=pmi2)", "PMI_SIZE", "PMI_RANK",
     "mpiexec -bind-to none with MPICH, I_MPI_PIN=off in the environment with Intel MPI, srun "
     "--cpu-bind=none with Slurm"},
}};
constexpr Signature slurm_step{"Slurm (srun)", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID",
                               "srun --cpu-bind=none, or --cpus-per-task=N for N processors each"};
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
  return LaunchInfo{true, *size, signature.launcher, signature.size, signature.unbind};
}

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
    if (const auto info = match(env, signature)) {
      return *info;
    }
  }
  if (const auto info = match(env, slurm_step); info && !is_shell_of_slurm(env)) {
    return *info;
  }
  if (const std::optional<int> rank = number(env, pmix_rank)) {
    return {true, *rank + 1, "a PMIx launcher (prterun, srun --mpi=pmix)", pmix_rank,
            "prterun --bind-to none, or srun --cpu-bind=none"};
  }
  return {};
}

void check_world_size(const LaunchInfo& info, int seen_size, bool built_with_mpi) {
  if (!info.launched || info.size <= 1 || seen_size != 1) {
    return;
  }
  const std::string_view reason =
      built_with_mpi
          ? "the MPI library of this program finds a world of one, so it is not the MPI of that "
            "launcher. Start it by the mpirun of the MPI that it is linked with (`ldd` names the "
            "library), or, under srun, choose a --mpi type that this MPI knows (`srun --mpi=list`)"
          : "this program was built without MPI. Link it with a shoal that has the MPI of that "
            "launcher (configure shoal with -DSHOAL_MPI=AUTO), or start one process and use "
            "--ranks N";
  throw ConfigError(fmt::format(
      "{} started {} processes ({}), but each would run the whole program alone: {}. If "
      "this shell merely inherited the variable, unset {}.",
      info.launcher, info.size, info.variable, reason, info.variable));
}

void check_not_launched(const LaunchInfo& info, bool has_communicator) {
  if (!has_communicator && info.size == 1) return;
  throw ConfigError(
      "--sim: a simulated world has all its ranks in one process: start the program without a "
      "launcher, with --sim --ranks N");
}

}  // namespace shoal::runtime
