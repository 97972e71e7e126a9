"""Programs and scripts around the applications: tools/demo, calibrate, and the check of simulated
times."""

import os
import subprocess
import sys

import suite

# An empty /sys, as in a bare container.
WITHOUT_SYS = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys && exec "$@"', "sh"]


class Demo(suite.Suite):

    def demo(self, **environment):
        if subprocess.run([*WITHOUT_SYS, "true"], capture_output=True).returncode != 0:
            self.skipTest("a private mount of /sys is not allowed here (it needs root)")
        command = [*WITHOUT_SYS, suite.SOURCE / "tools/demo", self.program("cholesky"), "--n", 300]
        return self.run_command(command, environment={"HWLOC_COMPONENTS": "", **environment})

    def test_hwloc_is_silent(self):
        """Neither the ranks nor the launcher complain."""
        done = self.demo()
        self.prints(done, r"4 ranks \(embedded\)")
        processes = max(2, min(16, len(os.sched_getaffinity(0))))
        self.prints(done, rf"\b{processes} ranks \(MPI\)|no MPI here")
        self.assertNotIn("hwloc", done.output + done.errors, str(done))

    def test_ends_with_a_trace(self):
        """The summary of its run, and the command for the page."""
        self.program("shoal-trace")
        done = self.demo()
        self.prints(done, "critical path: of ")
        self.prints(done, r"shoal-trace report \S+ -o demo\.html")

    def test_hwloc_complains_when_asked_to(self):
        done = self.demo(HWLOC_HIDE_ERRORS="0")
        self.assertIn("hwloc", done.output + done.errors, str(done))


class Calibrate(suite.Suite):

    def test_trees(self):
        result = self.embedded("calibrate", "net --ranks 4 --workers 1 --repetitions 3")
        self.prints(result, "multicast-costs = .[0-9]+ns,[0-9]+ns,[0-9]+ns,[0-9]+ns.")

    def test_validation_of_simulated_times(self):
        self.program("calibrate")
        self.run_command([sys.executable, suite.SOURCE / "bench/sim_validation",
                          suite.build().folder / "bin", "--short", "--rounds", 1, "--repeat", 1])


if __name__ == "__main__":
    suite.main()
