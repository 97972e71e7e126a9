"""Hosts that differ, are cut off for a while or for good, or are lost; and shoal-top over all."""

import json
import re
import tempfile
import time
from pathlib import Path

import hosts
import suite
from hosts import HOSTS, cluster, run_on


class Rounds(hosts.Hosts):
    """The program of tests/cluster/rounds.cpp, which goes on until a file is there."""

    def setUp(self):
        super().setUp()
        scratch = tempfile.TemporaryDirectory(prefix="cluster-test-", ignore_cleanup_errors=True)
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        self.file = self.scratch / "end"

    def start(self, mpi, *options):
        self.file.unlink(missing_ok=True)
        launch = self.launch(mpi, [self.rounds, self.file, "--workers", 1, *options])
        launch.wait_for("round 110")
        return launch

    @hosts.over_each_mpi
    def test_top(self, mpi):
        """shoal-top shows the ranks of all hosts through a process of one of them."""
        launch = self.start(mpi)
        _, pids = run_on("h2", *hosts.processes_here(self.rounds))
        code, text = run_on("h2", self.program("shoal-top"), "--once", "--json", pids.split()[0])
        self.assertEqual(code, 0, text)
        ranks = json.loads(text)["ranks"]
        self.assertEqual([rank["rank"] for rank in ranks], [0, 1, 2, 3])
        self.assertEqual(sorted(rank["host"] for rank in ranks), HOSTS)
        self.assertTrue(all(rank["known"] for rank in ranks), text)
        self.file.touch()
        launch.end(90)

    @hosts.over_each_mpi
    def test_mended(self, mpi):
        """A host without network for 20 s: the results are the same."""
        launch = self.start(mpi, "--stall-report", "5s")
        cluster("cut", "h3")
        time.sleep(20)  # what is tested: TCP sends again what was lost meanwhile
        cluster("mend", "h3")
        self.file.touch()
        output = launch.end(90)
        self.assertIn("the sums are right", output)
        self.assertIn("nothing has happened", output, "no report while the link was cut")

    @hosts.over_each_mpi
    def test_cut(self, mpi):
        """A host that is cut off for good: a report names its rank, and all processes end."""
        launch = self.start(mpi, "--stall-report", "2s", "--stall-abort", "4s")
        cluster("cut", "h3")
        self.require_no_process(HOSTS)
        output = launch.end(90, fails=True)  # Open MPI's mpirun waits until TCP gives h3 up
        self.assertIn("rank 2 does not answer", output)
        self.assertIn("--stall-abort", output)

    @hosts.over_each_mpi
    def test_killed(self, mpi):
        """A host that is lost: everything ends soon."""
        # Keepalive makes Open MPI's launcher notice; that of MPICH waits for an end of the others.
        abort = ["--stall-abort", "4s"] if mpi == "mpich" else []
        launch = self.start(mpi, "--stall-report", "2s", *abort)
        cluster("kill", "h3")
        launch.end(hosts.END_S, fails=True)
        self.require_no_process(["h1", "h2", "h4"])

    @hosts.over_each_mpi
    def test_different(self, mpi):
        """Another program, option or variable: the check at the start names the host."""
        self.file.touch()
        other = self.scratch / "other"
        data = Path(self.rounds).read_bytes()
        notes = self.run_command(["readelf", "-n", self.rounds]).output
        build_id = bytes.fromhex(re.search("Build ID: ([0-9a-f]+)", notes).group(1))
        self.assertEqual(data.count(build_id), 1)
        other.write_bytes(data.replace(build_id, bytes(len(build_id))))
        other.chmod(0o755)
        base = [self.rounds, self.file, "--workers", 1]
        cases = {
            "the program": [other, *base[1:]],
            "--packet-bytes": [*base, "--packet-bytes", 4096],
            "--window-bytes": ["env", "SHOAL_WINDOW_BYTES=64K", *base],
        }
        for name, command in cases.items():
            commands = {host: command if host == "h3" else base for host in HOSTS}
            output = self.launch(mpi, [], host_options=commands).end(60, fails=True)
            self.assertRegex(output, f"disagree about {name}: .* on h1, h2, h4 "
                                     r"\(.*; .* on h3 \(process 2\)")


if __name__ == "__main__":
    suite.main()
