#!/usr/bin/env python3
"""One binary, every MPI: which plug-in a program loads, and what it says when none fits.

plugin_test.py --program P --bare P --static P --c-host P --library FILE --plugins FOLDER
               --other FILE [--launcher MPI=COMMAND]... [OPTION OF unittest]...
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

OPTIONS = None
MARKS = re.compile(r"^(OMPI_COMM|PMI|PMIX|HYD|MPI_LOCAL|SLURM|SHOAL_MPI)")


# A host that is no program of shoal, and may have loaded an MPI for itself.
HOST = """
import ctypes, sys
library, mpi, *options = sys.argv[1:]
if mpi:
    ctypes.CDLL(mpi, mode=ctypes.RTLD_LOCAL)
shoal = ctypes.CDLL(library)
main = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
@main
def hello(world, _):
    world = ctypes.c_void_p(world)
    print(f"Hello from rank {shoal.shoal_rank(world)} of {shoal.shoal_size(world)}.", flush=True)
    return 0
words = [b"host"] + [word.encode() for word in options]
sys.exit(shoal.shoal_run(len(words), (ctypes.c_char_p * (len(words) + 1))(*words), hello, None))
"""
MPI_LIBRARIES = {"openmpi": ("libmpi.so.40", "Open MPI"), "mpich": ("libmpich.so.12", "MPICH")}


def run(command, **variables):
    """Runs a command as from a shell without a launcher; its exit code and output."""
    clean = {name: value for name, value in os.environ.items() if not MARKS.match(name)}
    done = subprocess.run([str(word) for word in command], env=clean | variables, text=True,
                          timeout=100, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


class Plugins(unittest.TestCase):
    def launch(self, mpi, count, *command, **variables):
        return run([*OPTIONS.launchers[mpi], count, *command], **variables)

    def ranks_say_hello(self, count, text):
        for rank in range(count):
            self.assertIn(f"Hello from rank {rank} of {count}.", text)

    def refuses(self, result, *parts):
        code, text = result
        self.assertNotEqual(code, 0, text)
        self.assertNotIn("Hello", text)
        self.assertIn("shoal: error: ", text)
        for part in parts:
            self.assertIn(part, text)

    def test_one_program_runs_without_and_over_every_mpi(self):
        code, text = run([OPTIONS.program, "--ranks", "3"])
        self.assertEqual(code, 0, text)
        self.ranks_say_hello(3, text)
        for mpi in OPTIONS.launchers:
            code, text = self.launch(mpi, 3, OPTIONS.program)
            self.assertEqual(code, 0, text)
            self.ranks_say_hello(3, text)

    def test_info_names_the_plugins(self):
        code, text = run([OPTIONS.program, "--info"])
        self.assertEqual(code, 0, text)
        self.assertIn("MPI: not used: no launcher was found\n", text)
        for mpi in OPTIONS.launchers:
            self.assertIn(f"{mpi} ({OPTIONS.plugins}/libshoal_mpi_{mpi}.so)", text)
            code, text_of_launch = self.launch(mpi, 2, OPTIONS.program, "--info")
            self.assertEqual(code, 0, text_of_launch)
            file = f"{OPTIONS.plugins}/libshoal_mpi_{mpi}.so"
            self.assertIn(f"MPI plug-in: {mpi} ({file}), compiled with ", text_of_launch)

    def test_without_a_launcher_no_mpi_is_loaded(self):
        code, text = run(["strace", "-f", "-e", "trace=openat", OPTIONS.program], SHOAL_RANKS="2")
        self.assertEqual(code, 0, text)
        self.ranks_say_hello(2, text)
        self.assertNotRegex(text, r"libmpi|shoal_mpi")

    def test_a_launch_without_a_plugin_is_refused(self):
        for mpi in OPTIONS.launchers:
            result = self.launch(mpi, 2, OPTIONS.bare)
            self.refuses(result, "started this process, but no plug-in of shoal for it can be",
                         f"libshoal_mpi_{mpi}.so: cannot open shared object file", "looked in",
                         "SHOAL_MPI_PLUGIN")
        # Alone, it is the whole program.
        code, text = self.launch(next(iter(OPTIONS.launchers)), 1, OPTIONS.bare)
        self.assertEqual(code, 0, text)
        self.ranks_say_hello(1, text)

    def test_plugins_are_found_beside_the_program_and_by_the_loader(self):
        for mpi in OPTIONS.launchers:
            code, text = self.launch(mpi, 2, OPTIONS.bare, LD_LIBRARY_PATH=str(OPTIONS.plugins))
            self.assertEqual(code, 0, text)
            self.ranks_say_hello(2, text)
        with tempfile.TemporaryDirectory() as folder:
            program = shutil.copy(OPTIONS.bare, folder)
            for mpi in OPTIONS.launchers:
                plugin = f"libshoal_mpi_{mpi}.so"
                os.symlink(OPTIONS.plugins / plugin, Path(folder) / plugin)
                code, text = self.launch(mpi, 2, program)
                self.assertEqual(code, 0, text)
                self.ranks_say_hello(2, text)

    def test_a_plugin_may_be_named(self):
        for mpi in OPTIONS.launchers:
            file = OPTIONS.plugins / f"libshoal_mpi_{mpi}.so"
            for variables in ({"SHOAL_MPI_PLUGIN": str(file)}, {"SHOAL_MPI_PLUGIN": mpi}):
                code, text = self.launch(mpi, 2, OPTIONS.program, **variables)
                self.assertEqual(code, 0, text)
                self.ranks_say_hello(2, text)
            code, text = self.launch(mpi, 2, OPTIONS.bare, "--mpi-plugin", file)
            self.assertEqual(code, 0, text)
            self.refuses(self.launch(mpi, 2, OPTIONS.program, "--mpi-plugin", "/nowhere/x.so"),
                         "names /nowhere/x.so", "/nowhere/x.so: cannot open")

    def test_a_file_that_is_no_plugin_of_this_version_is_refused(self):
        for mpi in OPTIONS.launchers:
            self.refuses(self.launch(mpi, 2, OPTIONS.program, "--mpi-plugin", OPTIONS.other),
                         "belongs to another version of shoal")
            self.refuses(self.launch(mpi, 2, OPTIONS.program, "--mpi-plugin", "/proc/self/exe"),
                         "/proc/self/exe: ")
            self.refuses(self.launch(mpi, 2, OPTIONS.program, "--mpi-plugin", OPTIONS.library),
                         "is no plug-in of shoal")

    def test_launchers_of_several_mpis_need_a_choice(self):
        if len(OPTIONS.launchers) < 2:
            self.skipTest("there is one MPI")
        for marks in ({"PMI_SIZE": "2", "PMI_RANK": "0"}, {"PMIX_RANK": "1"},
                      {"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "1", "SLURM_STEP_ID": "0"}):
            self.refuses(run([OPTIONS.program], **marks), "does not tell which MPI", "--mpi NAME",
                         *OPTIONS.launchers)
        for mpi in OPTIONS.launchers:  # the choice is taken: this MPI finds a world of one
            self.refuses(run([OPTIONS.program, "--mpi", mpi], PMI_SIZE="2", PMI_RANK="0"),
                         "finds a world of one")

    def test_the_wrong_mpi_is_refused(self):
        if len(OPTIONS.launchers) < 2:
            self.skipTest("there is one MPI")
        names = list(OPTIONS.launchers)
        for mpi, other in zip(names, reversed(names)):
            self.refuses(self.launch(mpi, 2, OPTIONS.program, "--mpi", other),
                         f"--mpi names {other}, but")
            self.refuses(self.launch(mpi, 2, OPTIONS.program, SHOAL_MPI_PLUGIN=other),
                         "finds a world of one")

    def host(self, mpi, loaded, *options, **variables):
        return self.launch(mpi, 2, sys.executable, "-c", HOST, OPTIONS.library, loaded, *options,
                           **variables)

    def test_hosts_load_the_library(self):
        for mpi in OPTIONS.launchers:
            code, text = self.launch(mpi, 2, OPTIONS.c_host, OPTIONS.library)
            self.assertEqual(code, 0, text)
            code, text = self.host(mpi, "")
            self.assertEqual(code, 0, text)
            self.ranks_say_hello(2, text)

    def test_the_mpi_of_the_process_comes_first(self):
        for mpi in OPTIONS.launchers:
            if mpi not in MPI_LIBRARIES:
                continue
            file, name = MPI_LIBRARIES[mpi]
            code, text = self.host(mpi, file)
            self.assertEqual(code, 0, text)
            self.ranks_say_hello(2, text)
            for other in OPTIONS.launchers:
                if other == mpi:
                    continue
                self.refuses(self.host(other, file), "finds a world of one")
                self.refuses(self.host(mpi, file, SHOAL_MPI_PLUGIN=other),
                             f"this process has loaded {name} (/",
                             f"libshoal_mpi_{other}.so: uses /")

    def test_one_mpi_may_be_linked_in(self):
        mpi = next(iter(OPTIONS.launchers))
        code, text = self.launch(mpi, 2, OPTIONS.static)
        self.assertEqual(code, 0, text)
        self.ranks_say_hello(2, text)
        code, text = run([OPTIONS.static, "--info"])
        self.assertIn(f"MPI plug-ins: {mpi}, linked in\n", text)
        self.refuses(self.launch(mpi, 2, OPTIONS.static, "--mpi-plugin", mpi),
                     f"has the MPI {mpi} linked in")

    def test_an_unknown_name_is_refused(self):
        self.refuses(run([OPTIONS.program, "--mpi", "lam"]), "openmpi", "mpich", "system", "abi")


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", help="hello, with shoal::shoal")
    parser.add_argument("--bare", help="the same without a RUNPATH")
    parser.add_argument("--static", help="the same with the first MPI linked in")
    parser.add_argument("--plugins", type=Path, help="folder of the plug-ins")
    parser.add_argument("--other", help="a plug-in of another version")
    parser.add_argument("--library", help="libshoal_c")
    parser.add_argument("--c-host", help="tests/c/load_library.c")
    parser.add_argument("--launcher", action="append", default=[],
                        help="MPI=COMMAND, which the number of processes follows")
    OPTIONS, rest = parser.parse_known_args()
    OPTIONS.launchers = dict((name, command.split()) for name, _, command in
                             (text.partition("=") for text in OPTIONS.launcher))
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
