"""shoal installed: a project in C++, one in C, tools, and pkg-config where all has moved to."""

import json
import os
import pathlib
import re
import shlex
import shutil
import sys
import unittest

import suite


class Package(suite.Suite):

    timeout = 300

    @classmethod
    def setUpClass(cls):
        build = suite.build()
        cls.variables = build.variables
        cls.cmake, cls.version = cls.variables["CMAKE_COMMAND"], cls.variables["PROJECT_VERSION"]
        cls.cxx, cls.c = cls.variables["CMAKE_CXX_COMPILER"], cls.variables["CMAKE_C_COMPILER"]
        cls.cache = [word for word in [cls.variables["SHOAL_TEST_CCACHE"]] if word]
        cls.tests = build.source / "tests"
        cls.scratch = build.scratch("install_package")
        cls.prefix = cls.scratch / "prefix"

    def setUp(self):
        if not self.prefix.exists():
            self.run_here(self.cmake, "--install", suite.build().folder, "--prefix", self.prefix)

    def run_here(self, *command, expect=None, expect_not=None, **options):
        """Its output, with the errors, matches. CMake breaks the lines of its messages."""
        result = self.run_command(command, **options)
        text = result.output + result.errors
        unbroken = re.sub("\n +", " ", text)
        self.assertTrue(any(re.search(expect or "", text) for text in (text, unbroken)),
                        f"{expect!r} does not match:\n{text}")
        if expect_not:
            self.assertNotRegex(unbroken, expect_not)
        return result.output

    def finds_plugins(self, program, folder):
        for mpi in suite.build().mpis:
            self.run_here(program, "--info", expect=f"{mpi} [(]{folder}/libshoal_mpi_{mpi}.so[)]")

    def configure(self, *options, **expected):
        """The project of tests/install. Its folder."""
        folder = self.scratch / "build"
        self.run_here(self.cmake, "-S", self.tests / "install", "-B", folder, "-G", "Ninja",
                      f"-DCMAKE_CXX_COMPILER={self.cxx}", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                      f"-DCMAKE_CXX_COMPILER_LAUNCHER={';'.join(self.cache)}", *options, **expected)
        return folder

    def consumer(self):
        """The program of that project."""
        build_type = f"-DCMAKE_BUILD_TYPE={self.variables['CMAKE_BUILD_TYPE']}"
        folder = self.configure(build_type, expect_not="no build type")
        self.run_here(self.cmake, "--build", folder, "--parallel", "2")
        return folder / "consumer"

    def test_project(self):
        consumer = self.consumer()
        self.run_here(consumer, "--ranks", "3", "--workers", "2")

        # Its RUNPATH leads to the plug-ins of the installed library, also where it is installed.
        own = self.scratch / "consumer"
        self.run_here(self.cmake, "--install", consumer.parent, "--prefix", own)
        for program in (consumer, own / "bin/consumer"):
            self.finds_plugins(program, f"{self.prefix}/lib[^ ]*")
        self.configure("-DCMAKE_BUILD_TYPE=", expect="no build type")
        self.configure("-DCMAKE_BUILD_TYPE=", "-DSHOAL_WARN_BUILD_TYPE=OFF",
                       expect_not="no build type")

    def test_tools(self):
        tools, consumer = self.prefix / "bin", self.consumer()
        self.run_here(tools / "shoal-explore", "--seeds", "6", "--", consumer, "--ranks", "3")
        names = ("shoal-explore", "shoal-trace", "shoal-top")
        for program in [*(tools / name for name in names), consumer]:
            self.run_here(program, "--version", expect=f"^shoal {self.version}\n$")
        # Benchmarks are run from a checkout.
        self.assertFalse((tools / "shoal-bench").exists())

    def test_license_and_pages(self):
        documents = self.prefix / "share/doc/shoal"
        self.assertIn("BSD 3-Clause", (documents / "LICENSE").read_text())
        self.assertIn("# Getting started", (documents / "docs/getting_started.md").read_text())
        self.assertIn("shoal::run", (documents / "examples/hello.cpp").read_text())
        readme = (documents / "README.md").read_text()
        for link in re.findall(r"\]\(([\w/]+\.\w+|LICENSE)[#)]", readme):
            self.assertTrue((documents / link).exists(), f"README.md: {link}")
        if shutil.which("help2man"):
            manual = self.prefix / "share/man/man1"
            options = {"shoal-trace": "SUBCOMMAND", "shoal-trace-report": "\\-\\-output",
                       "shoal-trace-why": "FILE",
                       "shoal-top": "\\-\\-interval", "shoal-explore": "\\-\\-seeds"}
            for page, text in options.items():
                self.assertIn(text, (manual / f"{page}.1").read_text())

    @unittest.skipUnless(shutil.which("tclsh"), "no tclsh")
    def test_module_file_names_folders_that_exist(self):
        file = self.prefix / "share/shoal/modulefiles/shoal" / self.version
        self.assertTrue(file.read_text().startswith("#%Module"))
        calls = self.scratch / "module.tcl"
        calls.write_text("foreach name {module-whatis conflict} { proc $name args {} }\n"
                         'foreach name {setenv prepend-path} { proc $name {a b} {puts "$a $b"} }\n'
                         "set ModulesCurrentModulefile [lindex $argv 0]\n"
                         "source $ModulesCurrentModulefile\n")
        site = self.scratch / "site"  # links to a link to it
        site.mkdir()
        (site / "shoal").symlink_to(file)
        (site / self.version).symlink_to("shoal")
        lines = self.run_here("tclsh", calls, file).splitlines()
        self.assertEqual(self.run_here("tclsh", calls, site / self.version).splitlines(), lines)
        folders = {name: pathlib.Path(path) for name, path in (line.split(" ") for line in lines)}
        self.assertEqual(folders["SHOAL_ROOT"], self.prefix)
        self.assertTrue((folders["PATH"] / "shoal-trace").is_file())
        self.assertTrue((folders["PKG_CONFIG_PATH"] / "shoal.pc").is_file())
        self.assertTrue((folders["PYTHONPATH"] / "edat.py").is_file())
        self.assertEqual(folders["CMAKE_PREFIX_PATH"], self.prefix)

    @unittest.skipUnless(shutil.which("dpkg-shlibdeps"), "no dpkg-dev")
    def test_packages_have_plugins_of_their_own(self):
        folder, build = self.scratch / "packages", suite.build()
        self.run_here(pathlib.Path(self.cmake).with_name("cpack"), "-G", "DEB", "-B", folder,
                      "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip",
                      "--config", build.folder / "CPackConfig.cmake")
        packages = {path.name.split("_")[0]: path for path in folder.glob("*.deb")}
        self.assertEqual(set(packages), {"shoal", *(f"shoal-{mpi}" for mpi in build.mpis)})
        for name, package in packages.items():
            needs = self.run_here("dpkg-deb", "--field", package, "Depends")
            files = self.run_here("dpkg-deb", "--contents", package)
            _, _, mpi = name.partition("-")
            if mpi:
                self.assertRegex(needs, f"lib{mpi}\\S+")
                self.assertIn(f"shoal (= {self.version})", needs)
                self.assertRegex(files, f"/usr/lib\\S*/libshoal_mpi_{mpi}.so\n$")
            else:
                self.assertIn("libboost-context-dev", needs)
                self.assertNotRegex(needs, "mpi")
                self.assertIn("/usr/bin/shoal-trace\n", files)
                self.assertNotIn("libshoal_mpi", files)

    def test_programs_in_c_and_fortran(self):
        project = self.scratch / "build_c"
        self.run_here(self.cmake, "-S", self.tests / "install/c", "-B", project, "-G", "Ninja",
                      f"-DCMAKE_C_COMPILER={self.c}", f"-DCMAKE_CXX_COMPILER={self.cxx}",
                      f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DTESTS={self.tests}")
        self.run_here(self.cmake, "--build", project)
        self.run_here(project / "with_event", "mine", "--ranks", "3", "--workers", "2")
        self.run_here(project / "with_edat")

        # By hand.
        folder, include = self.library_folder(self.prefix), self.prefix / "include/shoal"
        link = [f"-L{folder}", f"-Wl,-rpath,{folder}"]
        self.compile_and_run(self.c, self.tests / "edat/listings/more_calls.c",
                             f"-I{include}/edat", *link, "-lshoal_edat")
        self.run_here("readlink", "-f", folder / "libshoal_edat.so",
                      expect=f"libshoal_edat\\.so\\.{self.version}\n$")
        if fortran := self.variables["CMAKE_Fortran_COMPILER"]:
            self.compile_and_run(fortran, self.tests / "fortran/reduction.f90",
                                 f"-J{self.scratch}", f"-I{include}/fortran", *link,
                                 "-lshoal_fortran", "-lshoal_c")

    def library_folder(self, prefix):
        (library, ) = prefix.glob("lib*/**/libshoal_edat.so")
        return library.parent

    def compile_and_run(self, compiler, source, *options, arguments=()):
        program = self.scratch / f"{source.stem}_by_hand"
        self.run_here(compiler, source, "-o", program, *options)
        self.run_here(program, *arguments)
        return program

    def runs_python_example(self, prefix):
        """edat.py finds the library beside it."""
        self.run_here("env", "--unset=SHOAL_EDAT_LIBRARY", sys.executable, "-B",
                      self.tests / "edat/python/sums.py",
                      expect="1 parts, the last from rank 0: 4950\n$",
                      environment={"PYTHONPATH": str(prefix / "share/shoal/python")})

    def test_pkg_config_finds_all_where_it_has_moved_to(self):
        self.runs_python_example(self.prefix)
        moved = self.prefix.rename(self.scratch / "moved to")
        self.addCleanup(moved.rename, self.prefix)
        self.runs_python_example(moved)
        folder = self.library_folder(moved)
        os.environ["PKG_CONFIG_PATH"] = f"{folder}/pkgconfig"
        self.run_here("pkg-config", "--modversion", "shoal", "shoal_c", "shoal_edat",
                      expect=f"^{self.version}\n{self.version}\n{self.version}\n$")

        flags, source = self.flags("shoal"), self.tests / "install/main.cpp"
        main = self.scratch / "main.o"
        self.run_here(*self.cache, self.cxx, "-std=c++20", "-Werror", "-c", source, "-o", main,
                      *flags)
        program = self.compile_and_run(self.cxx, main, *flags,
                                       arguments=["--ranks", "3", "--workers", "2"])
        self.finds_plugins(program, folder)

        program = self.compile_and_run(self.c, self.tests / "c/event_calls.c", "-std=c11",
                                       *self.flags("shoal_c"),
                                       arguments=["mine", "--ranks", "3", "--workers", "2"])
        so_version = re.escape(".".join(self.version.split(".")[:2]))
        self.run_here("objdump", "-p", program, expect=f"NEEDED +libshoal_c\\.so\\.{so_version}\n")
        self.compile_and_run(self.c, self.tests / "edat/listings/more_calls.c",
                             *self.flags("shoal_edat"))

        # A program with other flags than shoal's: the linker says what is wrong.
        self.run_here(self.cxx, "-std=c++20", "-fsanitize=thread", "-D_GLIBCXX_DEBUG", source,
                      "-o", self.scratch / "other_flags", *flags, code=suite.FAILURE,
                      expect="(?s)(?=.*built_without_thread_sanitizer__configure_it_with_"
                             "SHOAL_SANITIZE_thread).*built_without_GLIBCXX_DEBUG__configure_it_"
                             "with_SHOAL_GLIBCXX_DEBUG_ON")

    def flags(self, package):
        return shlex.split(self.run_here("pkg-config", "--cflags", "--libs", package))


class Configurations(suite.Suite):
    """Builds for nothing but an installation, of which one part is compiled."""

    @suite.cases(["RelWithDebInfo", "Debug"])
    def test_paths_of_the_build_are_left_out(self, build_type):
        build = suite.build()
        cmake, folder = build.variables["CMAKE_COMMAND"], build.scratch("install_paths")
        self.run_command([cmake, "-S", build.source, "-B", folder, "-G", "Ninja",
                          f"-DCMAKE_CXX_COMPILER={build.variables['CMAKE_CXX_COMPILER']}",
                          f"-DCMAKE_BUILD_TYPE={build_type}", "-DSHOAL_CCACHE=OFF"])
        if build.variables.get("SHOAL_HELP2MAN"):  # Make creates no folder for what it makes
            self.assertTrue((folder / "src/man").is_dir())
        entries = json.loads((folder / "compile_commands.json").read_text())
        self.assertGreater(len(entries), 20)
        for entry in entries:
            for place in (f"{build.source}/=", f"{folder}=."):
                self.assertIn(f"-ffile-prefix-map={place}", entry["command"], entry["file"])
        self.builds_what_is_installed(folder)
        self.run_command([cmake, "--build", folder, "--target", "shoal_base"])
        objects = list(folder.glob("src/CMakeFiles/shoal_base.dir/**/*.o"))
        self.assertTrue(objects)
        for path in objects:
            self.assertIn(b"_info", path.read_bytes())  # for debuggers
            self.assertNotIn(str(build.source).encode(), path.read_bytes())

    def builds_what_is_installed(self, folder):
        """No application, test or benchmark: the libraries, plug-ins and tools."""
        variables = suite.build().variables
        commands = self.run_command(["ninja", "-C", folder, "-t", "commands", "all"]).output
        made = {pathlib.Path(path).name for path in re.findall(r" (?:-o|qc) (\S+)", commands)
                if not path.endswith((".o", ".f90"))}
        version = variables["PROJECT_VERSION"]
        expected = {"libshoal.a", f"libshoal_c.so.{version}", f"libshoal_edat.so.{version}",
                    "libshoal_c_api.a", "libshoal_edat_api.a", "libshoal_trace_tool.a",
                    "shoal-trace", "shoal-top",
                    *(f"libshoal_mpi_{mpi}.so" for mpi in suite.build().mpis)}
        if variables["CMAKE_Fortran_COMPILER"]:
            expected.add("libshoal_fortran.a")
        self.assertEqual(made, expected)


if __name__ == "__main__":
    suite.main()
