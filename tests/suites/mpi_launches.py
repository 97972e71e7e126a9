"""How launches over an MPI begin."""

import suite


class Launches(suite.Suite):

    def test_info(self):
        pattern = ("(?s)6 ranks, 2 workers each, in 2 processes on 1 node.*MPI_THREAD_MULTIPLE.*"
                   "1 other process .*process 1: ranks 3-5")
        for mpi in suite.build().mpis:
            result = self.launched("mpi_tests", mpi, 2, "kill_rank --info --ranks-per-process 3 "
                                                        "--workers 2 --shared-mpi")
            self.assertRegex(result.output, pattern)

    def test_simulated_world_is_no_part_of_a_launch(self):
        mpi = suite.build().mpis[0]
        result = self.launched(f"mpi_{mpi}_tests", mpi, 2, "runtime_launch_test --sim",
                               code=suite.FAILURE)
        self.assertIn("--sim: a simulated world has all", result.output + result.errors)

    def test_two_jobs_with_little_shared_memory(self):
        """MPICH itself does not start there."""
        if "openmpi" not in suite.build().mpis:
            self.skipTest("this build has no Open MPI")
        command = [suite.build().source / "tests/mpi/small_shm",
                   *suite.build().launchers["openmpi"], 4]
        result = self.run_command([*command, self.program("mpi_tests"), "runtime_stream_test"],
                                  code=[0, suite.SKIPPED])
        if result.code == suite.SKIPPED:
            self.skipTest(result.output)


if __name__ == "__main__":
    suite.main()
