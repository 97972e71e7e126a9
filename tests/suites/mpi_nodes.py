"""The programs of tests/mpi over each MPI in four processes, of which two at most share memory."""

import mpi_programs
import suite


class Nodes(mpi_programs.MpiSuite):

    def test_four_processes_of_two_nodes(self):
        for mpi in suite.build().mpis:
            for name in mpi_programs.FAR:
                self.run_test(name, mpi, 4, near=2)


if __name__ == "__main__":
    suite.main()
