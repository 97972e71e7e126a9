// A program that initializes MPI itself, at MPI_THREAD_SERIALIZED, and gives half of its processes
// to each of two worlds of EDAT.
// processes: 2 4
// output 2: world 0: 1 ranks, sum 0, around 10
// output 2: world 1: 1 ranks, sum 1, around 10
// output 2: MPI goes on: 2
// output 4: world 0: 2 ranks, sum 2, around 10
// output 4: world 1: 2 ranks, sum 4, around 10
// output 4: MPI goes on: 4
#include "edat.h"
#include "edat_debug.h"
#include <mpi.h>
#include <stdio.h>

#define ROUNDS 10

static int rounds = 0;

// A token goes around while main() calls MPI.
static void passes(EDAT_Event* events, int num_events) {
  int left = *(int*)events[0].data;
  if (edatGetRank() == 0) {
    rounds++;
    if (--left == 0) return;
    edatSubmitTask(passes, 1, EDAT_ANY, "token");
  }
  edatFireEvent(&left, EDAT_INT, 1, (edatGetRank() + 1) % edatGetNumRanks(), "token");
}

int main(int argc, char** argv) {
  int granted = 0, rank = 0, size = 0, sum = 0, all = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &granted);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half); // in reverse
  edatInitialiseWithCommunicator((int)MPI_Comm_c2f(half));
  const int world_size = edatGetNumRanks();
  if (edatGetRank() != (size - 1 - rank) / 2 || world_size != size / 2) {
    printf("rank %d of %d is rank %d of %d\n", rank, size, edatGetRank(), world_size);
  }

  const int times = edatGetRank() == 0 ? 1 : ROUNDS;
  for (int i = 0; i < times; i++) edatSubmitTask(passes, 1, EDAT_ANY, "token");
  int first = ROUNDS;
  if (edatGetRank() == 0) edatFireEvent(&first, EDAT_INT, 1, (1 % world_size), "token");
  for (int i = 0; i < 50; i++) {
    edatLockComms();
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
    edatUnlockComms();
  }
  edatFinalise();

  if (edatGetRank() == 0) {
    printf("world %d: %d ranks, sum %d, around %d\n", rank % 2, world_size, sum, rounds);
    fflush(stdout);
  }
  int one = 1;
  MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("MPI goes on: %d\n", all);
  MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
