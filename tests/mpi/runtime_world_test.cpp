// Worlds inside a program that has initialized MPI: several in a row, with every progress policy
// and several ranks per process; the program calls MPI before, after, and from the main function.

#include <shoal/mpi.hpp>

#include "mpi/communicator_run.hpp"
#include "mpi/world_battery.hpp"
#include "support/joined_program.hpp"
#include "support/sizes.hpp"
#include "support/stderr_tap.hpp"

namespace runtime_world_test {

using shoal::testing::require;
using shoal::testing::run_with;

int allreduce(MPI_Comm communicator, int value) {
  int sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, communicator);
  return sum;
}

void world_of(MPI_Comm communicator, int ranks_per_process, const std::string& progress,
              const std::string& workers) {
  int processes = 0;
  MPI_Comm_size(communicator, &processes);
  const int code = run_with(
      {"--ranks-per-process", std::to_string(ranks_per_process), "--progress", progress,
       "--workers", workers},
      [&](shoal::World& world) {
        require(world.size() == processes * ranks_per_process, "{} ranks", world.size());
        require(world.launch() == shoal::Launch::mpi, "not launched by MPI");
        shoal::testing::battery(world);
        if (ranks_per_process > 1) return;
        require(allreduce(communicator, 1) == processes, "MPI during the run");
        if (!shoal::testing::kSanitized) shoal::testing::battery(world);
      },
      communicator);
  require(code == 0, "the world with {} ranks per process, --progress {}, {} workers ended with {}",
          ranks_per_process, progress, workers, code);
  require(allreduce(communicator, 2) == 2 * processes, "MPI after the run");
}

/// run() on what is no communicator of one world: 1, a text that says why, and no world.
void refused(MPI_Comm communicator, const std::string& reason) {
  shoal::testing::StderrTap tap;
  bool ran = false;
  const int code = run_with(
      {}, [&](shoal::World& /*world*/) { ran = true; }, communicator);
  const std::string text = tap.stop();
  require(code == 1 && !ran, "a world on a communicator that should be refused ended with {}",
          code);
  require(text.find(reason) != std::string::npos, "no '{}' in: {}", reason, text);
}

/// `half`: of the processes with an even number, and of the others.
void refusals(int rank, MPI_Comm half) {
  refused(MPI_COMM_NULL, "MPI_COMM_NULL");
  int processes = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  if (processes == 1) return;
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &both);
  refused(both, "intercommunicator");
  // The program goes on with it, and makes a world of both groups as the text says.
  MPI_Comm merged = MPI_COMM_NULL;
  MPI_Intercomm_merge(both, rank % 2, &merged);
  world_of(merged, 1, "worker", "1");
  MPI_Comm_free(&merged);
  MPI_Comm_free(&both);
}

int program(int argc, char** argv) {
  int granted = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
  const int failed = shoal::testing::report([] {
    int processes = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    const bool are_few =
        shoal::testing::kSanitized && processes > 2;  // all pairs with two processes
    const int several = are_few ? 2 : 3;
    bool turned = false;
    for (const std::string progress : {"worker", "main", "thread"}) {  // all pairs of parameters
      if (!are_few || turned) world_of(MPI_COMM_WORLD, 1, progress, turned ? "2" : "1");
      if (!are_few || !turned) world_of(MPI_COMM_WORLD, several, progress, turned ? "1" : "2");
      turned = !turned;
    }
    // A part of the processes is a world of its own.
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    world_of(half, 1, "worker", "1");
    refusals(rank, half);
    MPI_Comm_free(&half);
    int finalized = 1;
    MPI_Finalized(&finalized);
    require(finalized == 0, "shoal has finalized MPI, which it had not initialized");
  });
  MPI_Finalize();
  return failed;
}

const shoal::testing::JoinedProgram kProgram("runtime_world_test", &program);

}  // namespace runtime_world_test
