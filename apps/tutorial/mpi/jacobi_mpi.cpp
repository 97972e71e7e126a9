// A Jacobi iteration in MPI alone, with non-blocking exchange of halos: where docs/from_mpi.md
// starts. It uses nothing of shoal.

#include "jacobi.hpp"

#include <mpi.h>

#include <cstdint>

// [main]
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int up = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int down = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;

  Strip strip = empty_strip(rank, size);  // one strip for each process
  Row above(kColumns, rank == 0 ? 1.0 : 0.0);
  Row below(kColumns, 0.0);
  for (int step = 0; step < kSteps; ++step) {
    const Row first = first_row(strip);
    const Row last = last_row(strip);
    MPI_Request requests[4];
    MPI_Irecv(above.data(), kColumns, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(below.data(), kColumns, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(first.data(), kColumns, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(last.data(), kColumns, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    strip = advance(above, strip, below);
  }

  const std::uint64_t mine = checksum(strip);
  std::uint64_t sum = 0;
  MPI_Reduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) print_checksum(sum);
  MPI_Finalize();
}
// [/main]
