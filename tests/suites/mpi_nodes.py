"""The programs of tests/mpi over each MPI in four processes, of which two at most share memory."""

import mpi_programs
import suite


class Nodes(mpi_programs.MpiSuite):

    def test_four_processes_of_two_nodes(self):
        for name in mpi_programs.FAR:
            for mpi in self.mpis_of(name, 1):
                self.run_test(name, mpi, 4, near=2)


if __name__ == "__main__":
    suite.main()
