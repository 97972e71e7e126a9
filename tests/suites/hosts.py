"""What the suites cluster_*.py share: 4 hosts on this machine (tools/cluster), and programs that
run over them."""

import functools
import os
import re
import subprocess
import threading
import time
from pathlib import Path

import suite

TOOL = Path(__file__).resolve().parents[2] / "tools" / "cluster"
HOSTS = ["h1", "h2", "h3", "h4"]
END_S = 30  # within which everything ends once a host is lost


def cluster(*arguments):
    subprocess.run([TOOL, *arguments], check=True)


def run_on(host, *command, name=None):
    """Exit code and output of a command on a host."""
    named = ["--name", name] if name else []
    done = subprocess.run([TOOL, *named, "run", host, "--", *command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout.strip()


def processes_here(program):
    """Command that lists a program's processes on its host, apart from those of other tests."""
    return "sh", "-c", f"pgrep --ns $$ --nslist net -x {Path(program).name[:15]}"


class Launch:
    """A program that runs over the hosts, and its output so far."""

    def __init__(self, arguments):
        self.command = [str(word) for word in (TOOL, "run", "--", *arguments)]
        self.output = ""
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        errors="replace")
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.output += line
                self.changed.notify_all()

    def said(self, what):
        return f"{' '.join(self.command)}\n{what}\n{self.output}"

    def wait_for(self, pattern, seconds=60):
        """Waits until the output matches."""
        with self.changed:
            self.changed.wait_for(lambda: re.search(pattern, self.output)
                                  or self.process.poll() is not None, seconds)
            if not re.search(pattern, self.output):
                raise AssertionError(self.said(f"does not print {pattern!r}"))

    def end(self, seconds, fails=False):
        """The output, once the launcher has ended."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(self.said(f"still runs after {seconds} s")) from None
        self.reader.join(10)
        if not self.reader.is_alive():
            self.process.stdout.close()
        if fails != (code != 0):
            raise AssertionError(self.said(f"ended with {code}"))
        return self.output


def over_each_mpi(case):
    """Runs a case with each MPI, over hosts that are as new."""

    @functools.wraps(case)
    def run(self):
        for number, mpi in enumerate(suite.build().mpis):
            if number:
                self.end_hosts()
                self.start_hosts()
            with self.subTest(mpi=mpi):
                case(self, mpi)

    return run


class Hosts(suite.Suite):
    """Each case has hosts of its own."""

    def setUp(self):
        if not suite.build().mpis:
            self.skipTest("this build has no MPI")
        self.start_hosts()
        self.addCleanup(self.end_hosts)
        self.rounds = self.program("cluster_rounds")

    def start_hosts(self):
        """They end with this process, whatever becomes of it."""
        self.hosts = subprocess.Popen([TOOL, "with", "4", "--", "sh", "-c",
                                       "echo $CLUSTER_NAME $CLUSTER_ROOT; exec cat"], text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE)
        names = self.hosts.stdout.readline().split()
        if not names:
            reason = self.hosts.communicate()[1]
            self.assertEqual(self.hosts.returncode, suite.SKIPPED, reason)
            self.skipTest(reason)
        os.environ["CLUSTER_NAME"], os.environ["CLUSTER_ROOT"] = names

    def end_hosts(self):
        self.hosts.communicate(timeout=60)

    def preloaded(self, mpi):
        """Libraries that programs over the hosts need with an MPI, as LD_PRELOAD has them."""
        return ":".join(map(self.program, ("libcluster_mpich_finalize.so",
                                           "libshoal_mpich_yield.so"))) if mpi == "mpich" else ""

    def launch(self, mpi, command, count=4, host_options=None):
        """host_options: the processes of one host each, with commands of their own."""
        launcher = [suite.build().launchers[mpi][0]]
        if mpi == "mpich":  # UCX ends idle connections after 16 s without an answer
            launcher += ["-genv", "LD_PRELOAD", self.preloaded(mpi)]
            launcher += ["-genv", "UCX_TCP_KEEPIDLE", "60s"]
        if host_options is None:
            return Launch([*launcher, "-n", count, *command])
        parts = [["-n", 1, *(["-host", host] if mpi == "openmpi" else []), *part]
                 for host, part in host_options.items()]  # MPICH takes the hosts in turn
        return Launch(launcher + sum(([":", *part] for part in parts), [])[1:])

    def require_no_process(self, hosts):
        """The hosts run no process of cluster_rounds, soon."""
        deadline = time.monotonic() + END_S
        for host in hosts:
            while found := run_on(host, *processes_here(self.rounds))[1]:
                self.assertLess(time.monotonic(), deadline, f"{host} still runs it: {found}")
                time.sleep(0.2)
