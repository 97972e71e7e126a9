"""A process of four fails, is killed, exits or stops for ever: the others end within a time limit,
and say why."""

import suite


class Failures(suite.Suite):

    timeout = 30

    def ends(self, program, arguments, *patterns, **options):
        """A launch of a program of tests/mpi over each MPI ends with an error and such output."""
        for mpi in suite.build().mpis:
            with self.subTest(mpi=mpi, arguments=arguments):
                result = self.launched(program.format(mpi=mpi), mpi, 4, arguments,
                                       code=suite.FAILURE, **options)
                for pattern in patterns:
                    self.assertRegex(result.output + result.errors, pattern)

    def test_missing_thread(self):
        self.ends("mpi_{mpi}_tests", "missing_thread --workers 2",
                  "no thread for worker 1 of rank 1")

    def test_killed(self):
        for near in (4, 1):  # through the memory of the node, and over MPI alone
            self.ends("mpi_tests", f"kill_rank --node-processes {near}",
                      "[Ss]ignal|[Kk]illed|TERMINATION|EXIT")

    def test_crash(self):
        self.ends("mpi_tests", "kill_rank crash",
                  "SIGSEGV. at address 0x10 in a task on rank 3, worker 0", "its name: 'careless'")

    def test_silent(self):
        for silent in (0, 3):
            self.ends("mpi_tests", f"stall_abort {silent} --stall-abort 1s",
                      f"rank {silent} does not answer", "the run is given up", timeout=120)

    def test_stalled_process_exits(self):
        self.ends("mpi_tests", "stall_abort exit --stall-abort 1s", "this process exits",
                  "the run is given up")

    def test_busy_process_is_not_stalled(self):
        for mpi in suite.build().mpis:
            self.launched("mpi_tests", mpi, 2, "stall_abort busy --workers 1 --stall-abort 5s",
                          timeout=120)

    def test_exit(self):
        """Of a process, while others are in a world, or start another one."""
        for owner in ("", "own_"):
            self.ends("mpi_{mpi}_tests", f"runtime_launch_test {owner}exit",
                      "process 0 exits inside shoal::run")
        self.ends("mpi_{mpi}_tests", "runtime_launch_test leave", "a process of this launch exits")
        self.ends("mpi_{mpi}_tests", "runtime_launch_test linger",
                  "shoal: error: this process exits, but other processes have not come to their "
                  "exit in time")

    def test_process_that_never_comes(self):
        """MPI is the program's: the others cannot know what a process does instead."""
        self.ends("mpi_{mpi}_tests",
                  "runtime_launch_test own_leave --stall-report 300ms --stall-abort 2s",
                  "report: process [12] has waited in shoal::run[(][)] for 0[.]",
                  "error: process [123] has waited in shoal::run[(][)] for 2[.]",
                  "equally often and with the same communicator")

    def test_misuse(self):
        """MPI_Finalize inside of a run, and runs of two threads at once."""
        self.ends("mpi_{mpi}_tests", "runtime_launch_test finalize",
                  "process 0 calls MPI_Finalize inside shoal::run")
        self.ends("mpi_{mpi}_tests", "runtime_launch_test two",
                  "another thread of this process is in it")


if __name__ == "__main__":
    suite.main()
