#!/usr/bin/env python3
"""Tests of programs over the hosts of a cluster that `tools/cluster with 4 -- ...` has started."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True  # not into the source folder
from slurm import NoSlurm, Slurm  # noqa: E402

TOOL = Path(__file__).resolve().parents[2] / "tools" / "cluster"
HOSTS = ["h1", "h2", "h3", "h4"]
END_S = 30  # within which everything ends once a host is lost


class Failed(Exception):
    """The test has failed."""


def require(condition, text):
    if not condition:
        raise Failed(text)


def cluster(*arguments):
    subprocess.run([TOOL, *arguments], check=True)


class Launch:
    """A program that runs over the hosts, and its output so far."""

    def __init__(self, options, command, count=None, host_options=None):
        count = count or 4 * options.per_host
        launcher = [options.launcher]
        if options.preload:
            launcher += ["-genv", "LD_PRELOAD", options.preload]
        if options.mpi == "mpich":  # else UCX ends idle connections after 16 s without an answer
            launcher += ["-genv", "UCX_TCP_KEEPIDLE", "60s"]
        # host_options: the processes of one host each, with arguments or variables of their own.
        if host_options is None:
            launcher += ["-n", str(count), *command]
        else:
            parts = [["-n", "1", *(["-host", host] if options.mpi == "openmpi" else []), *part]
                     for host, part in host_options.items()]  # MPICH takes the hosts in turn
            launcher += sum(([":", *part] for part in parts), [])[1:]
        self.output = ""
        self.started = time.monotonic()
        self.process = subprocess.Popen([TOOL, "run", "--", *launcher], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        errors="replace")
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.output += line
                self.changed.notify_all()

    def wait_for(self, pattern, seconds=60):
        """Waits until the output matches."""
        with self.changed:
            found = self.changed.wait_for(
                lambda: re.search(pattern, self.output) or self.process.poll() is not None, seconds)
            require(found and re.search(pattern, self.output), f"no '{pattern}' in {self.output}")

    def end(self, seconds):
        """The exit code and the output, once the launcher has ended."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"it still runs after {seconds} s: {self.output}") from None
        self.reader.join(10)
        return code, self.output


def processes_here(program):
    """Command that lists a program's processes on its host, apart from those of other tests."""
    return "sh", "-c", f"pgrep --ns $$ --nslist net -x {Path(program).name[:15]}"


def require_no_process(name, hosts, seconds):
    """The hosts run no process of the program, soon."""
    deadline = time.monotonic() + seconds
    for host in hosts:
        while True:
            found = subprocess.run([TOOL, "run", host, "--", *processes_here(name)],
                                   capture_output=True, text=True).stdout.split()
            if not found:
                break
            require(time.monotonic() < deadline, f"{host} still runs {name}: {found}")
            time.sleep(0.2)


def run_on(host, *command, name=None):
    """Exit code and output of a command on a host."""
    named = ["--name", name] if name else []
    done = subprocess.run([TOOL, *named, "run", host, "--", *command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout.strip()


def require_gone(pid, seconds=END_S):
    deadline = time.monotonic() + seconds
    while Path(f"/proc/{pid}").exists():
        require(time.monotonic() < deadline, f"process {pid} still runs")
        time.sleep(0.05)


def tool(options):
    """tools/cluster itself: what hosts share, exit codes, refusals, and what a crash leaves."""
    for host in HOSTS:
        require(run_on(host, "hostname") == (0, host), f"{host} has another name")
        require(run_on(host, "sh", "-c", "echo $$ > /dev/shm/mine; ls /dev/shm") == (0, "mine"),
                f"{host} shares memory")
    require(run_on("h2", "sh", "-c", "exit 7") == (7, ""), "the exit code of run")
    require(run_on("h1", "sh", "-c", "$HYDRA_LAUNCHER_EXEC h2 'hostname; exit 7'") == (7, "h2"),
            "the exit code and output of the agent")
    require("no host h9" in run_on("h9", "true")[1], "a host that does not exist")
    cluster("cut", "h2")
    require(run_on("h2", "cat", "/sys/class/net/eth0/carrier") == (0, "0"), "h2 is not cut off")
    require(run_on("h3", "cat", "/sys/class/net/eth0/carrier") == (0, "1"), "h3 is cut off")
    cluster("mend", "h2")
    require(run_on("h2", "cat", "/sys/class/net/eth0/carrier") == (0, "1"), "h2 is not mended")
    cluster("kill", "h2")
    require("h2 was killed" in run_on("h2", "true")[1], "h2 lives")

    # A cluster whose test is killed ends, and the next start removes its folder.
    name = f"crash-{os.getpid()}"
    started = Path(options.scratch) / "started"
    test = subprocess.Popen([TOOL, "--name", name, "with", "2", "--", "sh", "-c",
                             f"echo $$ > {started}; exec sleep 1000"])
    while not started.exists() or not started.read_text():
        require(test.poll() is None, "with ends without its command")
        time.sleep(0.05)
    root = Path(os.environ["CLUSTER_ROOT"])
    require(run_on("h2", "hostname", name=name) == (0, "h2"), "a second cluster beside the first")
    pids = [file.read_text().split()[0] for file in (root / name).glob("**/pid")]
    require(len(pids) == 3, f"processes of a cluster of two: {pids}")
    test.kill()
    test.wait()
    os.kill(int(started.read_text()), 9)
    for pid in pids:
        require_gone(pid)
    cluster("--name", name, "up", "1")
    refused = subprocess.run([TOOL, "--name", name, "up", "1"], capture_output=True, text=True)
    require("is up already" in refused.stderr, f"a second start: {refused.stderr}")
    cluster("--name", name, "down")
    require(not (root / name).exists(), f"{root / name} is left")


def programs(options):
    """Each program with its arguments, over all hosts; behind "2:", on 2 of them."""
    for given in options.programs:
        count, command = re.fullmatch(r"(?:(\d+):)?(.*)", given).groups()
        launch = Launch(options, command.split(), count)
        code, output = launch.end(120)
        require(code == 0, f"{command}: exit code {code}: {output}")
        print(f"{time.monotonic() - launch.started:6.1f} s  {Path(command.split()[0]).name}"
              f" {' '.join(command.split()[1:])}", flush=True)


def rounds(options, *more):
    file = Path(options.scratch) / "end"
    file.unlink(missing_ok=True)
    return file, Launch(options, [options.rounds, str(file), "--workers", "1", *more])


def top(options):
    """shoal-top shows the ranks of all hosts through a process of one of them."""
    file, launch = rounds(options)
    launch.wait_for("round 110")
    _, pids = run_on("h2", *processes_here(options.rounds))
    code, text = run_on("h2", options.top, "--once", "--json", pids.split()[0])
    require(code == 0, f"exit code {code}: {text}")
    ranks = json.loads(text)["ranks"]
    require([rank["rank"] for rank in ranks] == [0, 1, 2, 3]
            and sorted(rank["host"] for rank in ranks) == HOSTS
            and all(rank["known"] for rank in ranks), text)
    file.touch()
    code, output = launch.end(90)
    require(code == 0, f"exit code {code}: {output}")


def mended(options):
    """A host without network for 20 s: the results are the same."""
    file, launch = rounds(options, "--stall-report", "5s")
    launch.wait_for("round 110")
    cluster("cut", "h3")
    time.sleep(20)  # what is tested: TCP sends again what was lost meanwhile
    cluster("mend", "h3")
    file.touch()
    code, output = launch.end(90)
    require(code == 0 and "the sums are right" in output, f"exit code {code}: {output}")
    require("nothing has happened" in output, f"no report while the link was cut: {output}")


def cut(options):
    """A host that is cut off for good: a report names its rank, and all processes end."""
    _, launch = rounds(options, "--stall-report", "2s", "--stall-abort", "4s")
    launch.wait_for("round 110")
    cluster("cut", "h3")
    require_no_process(Path(options.rounds).name, HOSTS, END_S)
    code, output = launch.end(90)  # Open MPI's mpirun itself waits until TCP gives h3 up
    print(output)
    require(code != 0, f"exit code 0: {output}")
    require("rank 2 does not answer" in output, f"no report names rank 2: {output}")
    require("--stall-abort" in output, f"no word of --stall-abort: {output}")


def killed(options):
    """A host that is lost: everything ends soon."""
    # Keepalive makes Open MPI's launcher notice; that of MPICH waits for an end of the others.
    _, launch = rounds(options, "--stall-report", "2s",
                       *(["--stall-abort", "4s"] if options.mpi == "mpich" else []))
    launch.wait_for("round 110")
    cluster("kill", "h3")
    code, output = launch.end(END_S)
    print(output)
    require(code != 0, f"exit code 0: {output}")
    require_no_process(Path(options.rounds).name, ["h1", "h2", "h4"], END_S)


def different(options):
    """Hosts with another program, option or variable: the check at the start names the host."""
    file = Path(options.scratch) / "end"
    file.touch()
    other = Path(options.scratch) / "other"
    data = Path(options.rounds).read_bytes()
    notes = subprocess.run(["readelf", "-n", options.rounds], capture_output=True, text=True)
    build_id = bytes.fromhex(re.search("Build ID: ([0-9a-f]+)", notes.stdout).group(1))
    require(data.count(build_id) == 1, "the build id is not unique in the program")
    other.write_bytes(data.replace(build_id, bytes(len(build_id))))
    other.chmod(0o755)
    base = [options.rounds, str(file), "--workers", "1"]
    cases = {
        "the program": [str(other), *base[1:]],
        "--packet-bytes": [*base, "--packet-bytes", "4096"],
        "--window-bytes": ["env", "SHOAL_WINDOW_BYTES=64K", *base],
    }
    for name, command in cases.items():
        launch = Launch(options, [], host_options={host: command if host == "h3" else base
                                                   for host in HOSTS})
        code, output = launch.end(60)
        require(code != 0, f"{name}: exit code 0: {output}")
        pattern = rf"disagree about {name}: .* on h1, h2, h4 \(.*; .* on h3 \(process 2\)"
        require(re.search(pattern, output), f"{name}: the error does not name h3: {output}")


def slurm(options):
    """srun and a job script of sbatch, under a Slurm on the hosts."""
    with Slurm(Path(options.scratch)) as running:
        file = Path(options.scratch) / "end"
        file.touch()
        plugin = "pmix" if options.mpi == "openmpi" else "pmi2"
        preload = ["env", f"LD_PRELOAD={options.preload}"] if options.preload else []
        program = [*preload, options.rounds, str(file), "--workers", "1", "--mpi", options.mpi]
        unclear = running.run("srun", f"--mpi={plugin}", "-N", "4", "-n", "4", *program[:-2])
        if unclear.returncode != 0:  # there is a plug-in for another MPI, too
            require("does not tell which MPI" in unclear.stdout and options.mpi in unclear.stdout,
                    f"srun without --mpi of shoal: {unclear.stdout}")
        for count in (4, 8):
            done = running.run("srun", f"--mpi={plugin}", "-N", "4", "-n", str(count), *program)
            require(done.returncode == 0 and "the sums are right" in done.stdout,
                    f"srun -n {count}: exit code {done.returncode}: {done.stdout}")
        failed = running.run("srun", f"--mpi={plugin}", "-N", "4", "-n", "4", *program,
                             "--packet-bytes", "1")
        require(failed.returncode != 0, f"a failed program has exit code 0: {failed.stdout}")
        script = Path(options.scratch) / "job"
        script.write_text("#!/bin/sh\n#SBATCH --nodes=4 --ntasks-per-node=1\n"
                          f"srun --mpi={plugin} {' '.join(program)}\n")
        output = Path(options.scratch) / "job.output"
        running.run("sbatch", "--wait", f"--output={output}", str(script))
        text = output.read_text() if output.exists() else "no output"
        require("the sums are right" in text, f"the job script: {text}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=["tool", "programs", "top", "mended", "cut",
                                         "killed", "different", "slurm"])
    parser.add_argument("--mpi")
    parser.add_argument("--launcher")
    parser.add_argument("--preload", help="a library that the programs need with this MPI")
    parser.add_argument("--rounds", help="the program of rounds.cpp")
    parser.add_argument("--top", help="the program shoal-top")
    parser.add_argument("--per-host", type=int, default=1)
    parser.add_argument("programs", nargs="*")
    options = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory(prefix="cluster-test-",
                                     ignore_cleanup_errors=True) as scratch:
        options.scratch = scratch
        try:
            globals()[options.case](options)
        except Failed as failure:
            sys.exit(f"FAILED: {failure}")
        except NoSlurm as reason:
            print(f"skipped: {reason}")
            sys.exit(77)


if __name__ == "__main__":
    main()
