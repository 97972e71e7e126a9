"""srun and a job script of sbatch, under a Slurm on the hosts."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import hosts
import suite

# /run/tmp: the plugin for PMIx makes folders of the same name on all hosts.
CONFIGURATION = """
ClusterName=test
SlurmctldHost=h1
SlurmUser=root
AuthType=auth/munge
StateSaveLocation={folder}/state
SlurmctldPidFile=/run/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdSpoolDir=/run/slurmd
SlurmdPidFile=/run/slurmd.pid
SlurmdLogFile={folder}/slurmd.%n.log
TmpFS=/run/tmp
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
NodeName=h[1-4] CPUs=2
PartitionName=all Nodes=ALL Default=YES State=UP
"""


class NoSlurm(Exception):
    """Slurm is not installed, or does not start."""


class Slurm:
    """Slurm with its controller on h1 and a node on each host."""

    def __init__(self, folder):
        self.folder = folder
        # Fences: docs/clusters.md.
        self.environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf"),
                                         "SLURM_PMIX_FENCE": "ring"}

    def run(self, *command, host="h1", seconds=60):
        """Runs a command on a host; its errors are a part of its output."""
        return subprocess.run([hosts.TOOL, "run", host, "--", *command], env=self.environment,
                              text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=seconds, check=False)

    def __enter__(self):
        for program in ("munged", "slurmctld", "slurmd", "srun", "sbatch"):
            if shutil.which(program) is None:
                raise NoSlurm(f"no program {program}: install munge, slurmctld, slurmd and "
                              "slurm-client")
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(folder=self.folder))
        # Neither controls processes by groups of the kernel; this one need not find any.
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        (self.folder / "state").mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        for host in hosts.HOSTS:
            self.start(host, "sh", "-c", "mkdir -p /run/munge /run/slurmd")
            self.start(host, "munged", "--force", f"--key-file={key}",
                       f"--log-file={self.folder}/munged.{host}.log",
                       "--pid-file=/run/munge/pid", "--seed-file=/run/munge/seed",
                       "--socket=/run/munge/munge.socket.2")
        self.start("h1", "slurmctld")
        for host in hosts.HOSTS:
            self.start(host, "slurmd", "-N", host)
        for _ in range(100):
            if self.run("sinfo", "--noheader", "--format=%D %t").stdout.strip() == "4 idle":
                return self
            time.sleep(0.2)
        raise NoSlurm(f"the nodes do not become idle: {self.logs()}")

    def __exit__(self, *_):
        self.run("scontrol", "shutdown")
        for _ in range(100):  # until nothing writes into the folder
            if self.run("pgrep", "-x", "slurmctld").returncode != 0:
                return
            time.sleep(0.1)

    def start(self, host, *command):
        # To a file: the daemon keeps what it is given open.
        with open(self.folder / "start.log", "ab") as log:
            code = subprocess.run([hosts.TOOL, "run", host, "--", *command], env=self.environment,
                                  stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                  check=False).returncode
        if code != 0:
            raise NoSlurm(f"{command[0]} does not start on {host}: {self.logs()}")

    def logs(self):
        texts = []
        for file in sorted(self.folder.glob("*.log")):
            texts += [f"--- {file.name}", *file.read_text(errors="replace").splitlines()[-15:]]
        return "\n".join(texts)


class Jobs(hosts.Hosts):

    def srun(self, slurm, count, mpi, *command, code=0):
        plugin = "pmix" if mpi == "openmpi" else "pmi2"
        done = slurm.run("srun", f"--mpi={plugin}", "-N", "4", "-n", str(count), *command)
        self.assertIn(done.returncode, [code] if isinstance(code, int) else code, done.stdout)
        return done

    @hosts.over_each_mpi
    def test_jobs(self, mpi):
        with tempfile.TemporaryDirectory(prefix="cluster-test-",
                                         ignore_cleanup_errors=True) as folder:
            scratch = Path(folder)
            (scratch / "end").touch()
            preload = ["env", f"LD_PRELOAD={self.preloaded(mpi)}"] if mpi == "mpich" else []
            program = [*preload, self.rounds, str(scratch / "end"), "--workers", "1"]
            hello = [*preload, self.program("tutorial_hello"), "--mpi", mpi]
            try:
                with Slurm(scratch) as slurm:
                    self.jobs(slurm, scratch, mpi, program)
                    said = self.srun(slurm, 4, mpi, *hello).stdout
                    for rank in range(4):
                        self.assertIn(f"Hello from rank {rank} of 4.", said)
            except NoSlurm as reason:
                self.skipTest(str(reason))

    def jobs(self, slurm, scratch, mpi, program):
        unclear = self.srun(slurm, 4, mpi, *program, code=range(256))
        if unclear.returncode != 0:  # there is a plug-in for another MPI, too
            self.assertRegex(unclear.stdout, f"does not tell which MPI(?s:.*){mpi}")
        program += ["--mpi", mpi]
        for count in (4, 8):
            self.assertIn("the sums are right", self.srun(slurm, count, mpi, *program).stdout)
        self.srun(slurm, 4, mpi, *program, "--packet-bytes", "1", code=suite.FAILURE)
        plugin = "pmix" if mpi == "openmpi" else "pmi2"
        script, output = scratch / "job", scratch / "job.output"
        script.write_text("#!/bin/sh\n#SBATCH --nodes=4 --ntasks-per-node=1\n"
                          f"srun --mpi={plugin} {' '.join(program)}\n")
        slurm.run("sbatch", "--wait", f"--output={output}", str(script))
        self.assertIn("the sums are right", output.read_text() if output.exists() else "no output")


if __name__ == "__main__":
    suite.main()
