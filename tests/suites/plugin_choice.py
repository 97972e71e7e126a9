"""One binary, every MPI: which plug-in a program loads, and what it says when none fits."""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import suite

MARKS = re.compile(r"^(OMPI_COMM|PMI|PMIX|HYD|MPI_LOCAL|SLURM|SHOAL_MPI)")


# A host that is no program of shoal, and may have loaded an MPI for itself.
HOST = """
import ctypes, sys
library, mpis, *options = sys.argv[1:]
for mpi in mpis.split():
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


class Plugins(suite.Suite):

    def setUp(self):
        """Programs, in the environment of a shell without a launcher."""
        self.mpis = suite.build().mpis
        self.hello = self.program("tutorial_hello")
        self.bare = self.program("mpi_bare_hello")  # without a RUNPATH
        self.library = self.program("libshoal_c.so")
        self.other = self.program("libmpi_other_version.so")
        self.plugins = suite.build().folder / "src"
        for name in [name for name in os.environ if MARKS.match(name)]:
            del os.environ[name]

    def run_any(self, command, **variables):
        """Its exit code and output, with the errors."""
        result = self.run_command(command, code=range(-64, 256), environment=variables)
        return result.code, result.output + result.errors

    def launch(self, mpi, count, *command, **variables):
        return self.run_any([*suite.build().launchers[mpi], count, *command], **variables)

    def ranks_say_hello(self, count, result):
        code, text = result
        self.assertEqual(code, 0, text)
        for rank in range(count):
            self.assertIn(f"Hello from rank {rank} of {count}.", text)
        return text

    def refuses(self, result, *parts):
        code, text = result
        self.assertNotEqual(code, 0, text)
        self.assertNotIn("Hello", text)
        self.assertIn("shoal: error: ", text)
        for part in parts:
            self.assertIn(part, text)

    def test_one_program_runs_without_and_over_every_mpi(self):
        self.ranks_say_hello(3, self.run_any([self.hello, "--ranks", "3"]))
        for mpi in self.mpis:
            self.ranks_say_hello(3, self.launch(mpi, 3, self.hello))

    def test_info_names_the_plugins(self):
        code, text = self.run_any([self.hello, "--info"])
        self.assertEqual(code, 0, text)
        self.assertIn("MPI: not used: no launcher was found\n", text)
        for mpi in self.mpis:
            self.assertIn(f"{mpi} ({self.plugins}/libshoal_mpi_{mpi}.so)", text)
            code, text_of_launch = self.launch(mpi, 2, self.hello, "--info")
            self.assertEqual(code, 0, text_of_launch)
            file = f"{self.plugins}/libshoal_mpi_{mpi}.so"
            self.assertIn(f"MPI plug-in: {mpi} ({file}), compiled with ", text_of_launch)

    def test_info_says_whether_freed_memory_is_kept(self):
        kept = "malloc: freed memory stays in the process\n"
        for variables in ({"MALLOC_TRIM_THRESHOLD_": "131072"},
                          {"MALLOC_MMAP_THRESHOLD_": "131072"},
                          {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=131072"}):
            code, text = self.run_any([self.hello, "--info"], **variables)
            self.assertEqual(code, 0, text)
            self.assertIn("malloc: freed memory goes back to the system, as the environment or "
                          "the program says\n", text)
        code, text = self.run_any([self.hello, "--info"])
        self.assertIn(kept, text)
        code, text = self.run_any([self.hello, "--sim", "--info"])
        self.assertNotIn("malloc", text)

    def test_without_a_launcher_no_mpi_is_loaded(self):
        strace = ["strace", "-f", "-e", "trace=openat"]
        text = self.ranks_say_hello(2, self.run_any([*strace, self.hello], SHOAL_RANKS="2"))
        self.assertNotRegex(text, r"libmpi|shoal_mpi")

    def test_a_launch_without_a_plugin_is_refused(self):
        for mpi in self.mpis:
            result = self.launch(mpi, 2, self.bare)
            self.refuses(result, "started this process, but no plug-in of shoal for it can be",
                         f"libshoal_mpi_{mpi}.so: cannot open shared object file", "looked in",
                         "package shoal-openmpi or shoal-mpich", "libopenmpi-dev or libmpich-dev",
                         "SHOAL_MPI_PLUGIN")
        code, text = self.run_any([self.bare, "--info"])
        self.assertRegex(text, "MPI plug-ins: none found in /.*/tests")
        # Alone, it is the whole program.
        self.ranks_say_hello(1, self.launch(self.mpis[0], 1, self.bare))

    def test_plugins_are_found_beside_the_program_and_by_the_loader(self):
        for mpi in self.mpis:
            self.ranks_say_hello(2, self.launch(mpi, 2, self.bare,
                                                LD_LIBRARY_PATH=str(self.plugins)))
        with tempfile.TemporaryDirectory() as folder:
            program = shutil.copy(self.bare, folder)
            for mpi in self.mpis:
                plugin = f"libshoal_mpi_{mpi}.so"
                os.symlink(self.plugins / plugin, Path(folder) / plugin)
                self.ranks_say_hello(2, self.launch(mpi, 2, program))

    def test_a_plugin_may_be_named(self):
        for mpi in self.mpis:
            file = self.plugins / f"libshoal_mpi_{mpi}.so"
            for variables in ({"SHOAL_MPI_PLUGIN": str(file)}, {"SHOAL_MPI_PLUGIN": mpi}):
                self.ranks_say_hello(2, self.launch(mpi, 2, self.hello, **variables))
            code, text = self.launch(mpi, 2, self.bare, "--mpi-plugin", file)
            self.assertEqual(code, 0, text)
            self.refuses(self.launch(mpi, 2, self.hello, "--mpi-plugin", "/nowhere/x.so"),
                         "names /nowhere/x.so", "/nowhere/x.so: cannot open")

    def test_the_mpi_that_cmake_finds(self):
        """libshoal_mpi_system.so alone: it is the plug-in of one MPI, and refused by the others."""
        plugin, folder = self.program("system_plugin/libshoal_mpi_system.so"), self.folder()
        program = shutil.copy(self.bare, folder)
        library = folder / Path(self.library).name
        for link, file in ((folder / Path(plugin).name, plugin), (library, self.library)):
            os.symlink(file, link)
        served = []
        for mpi in self.mpis:
            result = self.launch(mpi, 2, program)
            if result[0] != 0:
                self.refuses(result, "no plug-in of shoal for it", "libshoal_mpi_system.so: uses ")
                continue
            self.ranks_say_hello(2, result)
            served.append(mpi)
            code, text = self.launch(mpi, 2, program, "--mpi", "system", "--info")
            self.assertIn(f"MPI plug-in: system ({folder}/libshoal_mpi_system.so), compiled with ",
                          text)
            file, _ = MPI_LIBRARIES[mpi]
            self.ranks_say_hello(2, self.host(mpi, file, library=library))
        self.assertEqual(len(served), 1, f"{plugin} serves {served} of {self.mpis}")
        # The only plug-in is that of a launcher that may belong to any MPI.
        self.refuses(self.run_any([program], PMI_SIZE="2", PMI_RANK="0"), "finds a world of one")

    def test_a_file_that_is_no_plugin_of_this_version_is_refused(self):
        for mpi in self.mpis:
            self.refuses(self.launch(mpi, 2, self.hello, "--mpi-plugin", self.other),
                         "belongs to another version of shoal")
            self.refuses(self.launch(mpi, 2, self.hello, "--mpi-plugin", "/proc/self/exe"),
                         "/proc/self/exe: ")
            self.refuses(self.launch(mpi, 2, self.hello, "--mpi-plugin", self.library),
                         "is no plug-in of shoal")

    def test_launchers_of_several_mpis_need_a_choice(self):
        if len(self.mpis) < 2:
            self.skipTest("there is one MPI")
        for marks in ({"PMI_SIZE": "2", "PMI_RANK": "0"}, {"PMIX_RANK": "1"},
                      {"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "1", "SLURM_STEP_ID": "0"}):
            self.refuses(self.run_any([self.hello], **marks), "does not tell which MPI",
                         "--mpi NAME", *self.mpis)
        for mpi in self.mpis:  # the choice is taken: this MPI finds a world of one
            self.refuses(self.run_any([self.hello, "--mpi", mpi], PMI_SIZE="2", PMI_RANK="0"),
                         "finds a world of one")

    def test_the_wrong_mpi_is_refused(self):
        if len(self.mpis) < 2:
            self.skipTest("there is one MPI")
        names = self.mpis
        for mpi, other in zip(names, reversed(names)):
            self.refuses(self.launch(mpi, 2, self.hello, "--mpi", other),
                         f"--mpi names {other}, but")
            self.refuses(self.launch(mpi, 2, self.hello, SHOAL_MPI_PLUGIN=other),
                         "finds a world of one")

    def host(self, mpi, loaded, *options, library=None, **variables):
        return self.launch(mpi, 2, sys.executable, "-c", HOST, library or self.library, loaded,
                           *options, **variables)

    def test_hosts_load_the_library(self):
        for mpi in self.mpis:
            code, text = self.launch(mpi, 2, self.program("c_load_library"), self.library)
            self.assertEqual(code, 0, text)
            self.ranks_say_hello(2, self.host(mpi, ""))

    def test_the_mpi_of_the_process_comes_first(self):
        for mpi in self.mpis:
            if mpi not in MPI_LIBRARIES:
                continue
            file, name = MPI_LIBRARIES[mpi]
            self.ranks_say_hello(2, self.host(mpi, file))
            for other in self.mpis:
                if other == mpi:
                    continue
                self.refuses(self.host(other, file), "finds a world of one")
                self.refuses(self.host(mpi, file, SHOAL_MPI_PLUGIN=other),
                             f"this process has loaded {name} (/",
                             f"libshoal_mpi_{other}.so: uses /")

    def test_of_several_mpis_in_the_process_that_of_the_launcher_is_used(self):
        known = [mpi for mpi in self.mpis if mpi in MPI_LIBRARIES]
        if len(known) < 2:
            self.skipTest("there is one MPI")
        files = " ".join(MPI_LIBRARIES[mpi][0] for mpi in known)
        for mpi in known:
            self.ranks_say_hello(2, self.host(mpi, files))
        named = [f"{MPI_LIBRARIES[mpi][1]} (/" for mpi in known]
        command = [sys.executable, "-c", HOST, self.library, files]
        self.refuses(self.run_any(command, PMI_SIZE="2", PMI_RANK="0"),
                     "this process has loaded several MPI libraries: ", *named,
                     "Load one of them, or pass a communicator")

    def test_failures_of_mpi(self):
        """Two that no MPI of this machine has by itself."""
        plugin = self.program("libmpi_failing_plugin.so")
        run = ("mpich", 2)
        code, text = self.launch(*run, self.hello, "--mpi-plugin", plugin,
                                 FAILING_MPI="allreduce_min")
        self.assertRegex(text, "shoal: error: process [01] could not finalize MPI: "
                               "MPI_Allreduce failed: ")
        self.refuses(self.launch(*run, self.program("tutorial_memory"), "--mpi-plugin", plugin,
                                 "--node-processes", 1, "--global-rma", 16,
                                 FAILING_MPI="win_attach"),
                     "MPI_Win_attach of ", " bytes failed in process ", "choose a smaller heap")
        self.ranks_say_hello(2, self.launch(*run, self.hello, "--mpi-plugin", plugin))

    def test_a_communicator_of_another_mpi_than_the_launchers_is_noted(self):
        program = self.program("tutorial_communicator")  # with the first MPI
        for mpi in self.mpis:
            code, text = self.launch(mpi, 2, program, "--workers", 1)
            self.assertEqual(code, 0, text)
            self.assertEqual(text.count("a world of 1\n"), 2, text)
            notes = 0 if mpi == self.mpis[0] else 2
            self.assertEqual(len(re.findall("shoal: note: .*finds a world of one", text)), notes,
                             text)

    def test_an_unknown_name_is_refused(self):
        self.refuses(self.run_any([self.hello, "--mpi", "lam"]), "openmpi", "mpich", "system",
                     "abi")


if __name__ == "__main__":
    suite.main()
