"""The programs of tests/mpi in more layouts than mpi_programs.py has. Over each MPI but the first,
long tests of layers above the transport have no more than those."""

import mpi_programs
import suite


class Layouts(mpi_programs.MpiSuite):

    def run_layout(self, processes, near=None):
        for number, mpi in enumerate(suite.build().mpis):
            for name in mpi_programs.FAR + ([] if near else mpi_programs.NEAR):
                is_long = name.endswith(("_world_test", "_lifetime_test", "_stall_test"))
                if number == 0 or not is_long:
                    self.run_test(name, mpi, processes, near)

    def test_one_process(self):
        self.run_layout(1)

    def test_four_processes(self):
        self.run_layout(4)

    def test_two_processes_of_two_nodes(self):
        self.run_layout(2, near=1)


if __name__ == "__main__":
    suite.main()
