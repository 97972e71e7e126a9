"""tools/cluster itself: what hosts share, exit codes, refusals, and what a crash leaves. Where it
cannot start a cluster, it prints the reason and exits with the code that skips a test."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import hosts
import suite
from hosts import TOOL, cluster, run_on

IS_ROOT = os.geteuid() == 0
NEEDED = ("ip", "nsenter", "mount")
HAS_NEEDED = all(map(shutil.which, NEEDED))

# The tool's main() as another user, who may have no access to the modules that it imports.
AS_NOBODY = ("-c", "import os, runpy, sys; tool = runpy.run_path(sys.argv.pop(1)); "
             "os.setuid(65534); sys.exit(tool['main']())")


class Skip(suite.Suite):

    def check_skipped(self, reason, launcher=(), interpreter=(sys.executable, ), **variables):
        for arguments in (["up", "1"], ["with", "1", "--", "echo", "the command runs"]):
            result = self.run_command([*launcher, *interpreter, TOOL, *arguments],
                                      code=suite.SKIPPED, environment=variables)
            self.assertRegex(result.errors, f"^tools/cluster: skipped: {reason}")
            self.assertEqual((result.output, result.errors.count("\n")), ("", 1))

    def test_without_a_program_that_it_needs(self):
        with tempfile.TemporaryDirectory() as folder:
            for program in NEEDED:
                self.check_skipped(f"no program {program}: install the packages iproute2 and",
                                   PATH=folder)
                (Path(folder) / program).symlink_to("/bin/true")

    @suite.unittest.skipUnless(HAS_NEEDED, "a program of the tool is missing")
    def test_without_root(self):
        self.check_skipped("a cluster needs namespaces, which need root",
                           interpreter=(sys.executable, *(AS_NOBODY if IS_ROOT else ())))

    @suite.unittest.skipUnless(IS_ROOT and HAS_NEEDED, "needs root")
    def test_where_namespaces_are_not_allowed(self):
        limits = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin")  # a container's
        self.check_skipped("namespaces are not allowed here: .*not permitted", launcher=limits)

    def test_version_is_that_of_the_other_tools(self):
        versions = {self.run_command([TOOL.parent / tool, "--version"]).output
                    for tool in ("cluster", "shoal-bench", "shoal-explore")}
        self.assertEqual(len(versions), 1, versions)
        self.assertRegex(versions.pop(), r"^shoal \d+\.\d+\.\d+\n$")

    def test_other_refusals_are_failures(self):
        self.assertIn("from 1 to 250 hosts", self.run_command([TOOL, "up", "0"], code=1).errors)


class Tool(hosts.Hosts):

    def carrier(self, host):
        return run_on(host, "cat", "/sys/class/net/eth0/carrier")

    def test_hosts(self):
        for host in hosts.HOSTS:
            self.assertEqual(run_on(host, "hostname"), (0, host))
            seen = run_on(host, "sh", "-c", "echo $$ > /dev/shm/mine; ls /dev/shm")
            self.assertEqual(seen, (0, "mine"), f"{host} shares memory")
        self.assertEqual(run_on("h2", "sh", "-c", "exit 7"), (7, ""))
        self.assertEqual(run_on("h1", "sh", "-c", "$HYDRA_LAUNCHER_EXEC h2 'hostname; exit 7'"),
                         (7, "h2"), "the exit code and output of the agent")
        self.assertIn("no host h9", run_on("h9", "true")[1])
        cluster("cut", "h2")
        self.assertEqual([self.carrier("h2"), self.carrier("h3")], [(0, "0"), (0, "1")])
        cluster("mend", "h2")
        self.assertEqual(self.carrier("h2"), (0, "1"))
        cluster("kill", "h2")
        self.assertIn("h2 was killed", run_on("h2", "true")[1])

    def test_what_a_crash_leaves(self):
        """A cluster whose test is killed ends, and the next start removes its folder."""
        name = f"crash-{os.getpid()}"
        test = subprocess.Popen([TOOL, "--name", name, "with", "2", "--", "sh", "-c",
                                 "echo $$; exec sleep 1000"], stdout=subprocess.PIPE, text=True)
        sleeper = int(test.stdout.readline())
        folder = Path(os.environ["CLUSTER_ROOT"]) / name
        self.assertEqual(run_on("h2", "hostname", name=name), (0, "h2"), "beside the first one")
        pids = [file.read_text().split()[0] for file in folder.glob("**/pid")]
        self.assertEqual(len(pids), 3, pids)
        test.kill()
        os.kill(sleeper, 9)
        test.communicate()
        deadline = time.monotonic() + hosts.END_S
        while running := [pid for pid in pids if Path(f"/proc/{pid}").exists()]:
            self.assertLess(time.monotonic(), deadline, f"processes still run: {running}")
            time.sleep(0.05)
        cluster("--name", name, "up", "1")
        self.assertIn("is up already", self.run_command([TOOL, "--name", name, "up", "1"],
                                                        code=1).errors)
        cluster("--name", name, "down")
        self.assertFalse(folder.exists())


if __name__ == "__main__":
    suite.main()
