"""A shoal for sanitizers, installed: its flags, headers and plug-ins reach programs that use it,
also where it has moved to, and "A first program" runs with it. (install_package.py has more,
without sanitizers.)"""

import os
import shlex

import suite


class Sanitized(suite.Suite):

    @classmethod
    def setUpClass(cls):
        cls.scratch = suite.build().scratch("install_sanitized")
        cls.prefix = cls.scratch / "prefix"

    def setUp(self):
        """The library is installed, without its tools."""
        build = suite.build()
        if self.prefix.exists():
            return
        for component in ("shoal", *build.mpis):
            self.run_command([build.variables["CMAKE_COMMAND"], "--install", build.folder,
                              "--prefix", self.prefix, "--component", component])

    def build_project(self, source, folder, target, *options):
        """The program, made of a project by find_package."""
        build = suite.build()
        cmake = build.variables["CMAKE_COMMAND"]
        self.run_command([cmake, "-S", source, "-B", folder, "-G", "Ninja",
                          f"-DCMAKE_CXX_COMPILER={build.variables['CMAKE_CXX_COMPILER']}",
                          f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DSHOAL_WARN_BUILD_TYPE=OFF",
                          *options])
        self.run_command([cmake, "--build", folder, "--target", target])
        return folder / target

    def check(self, program, code, prefix):
        """A program, one of whose objects is `code`."""
        build = suite.build()
        calls = "__tsan_func_entry" if "thread" in build.sanitize else "__asan_init"
        self.assertIn(calls, self.run_command(["nm", code]).output)
        self.run_command([*build.prefix, program, "--ranks", 3, "--workers", 2])
        said = self.run_command([*build.prefix, program, "--info"]).output
        for mpi in build.mpis:
            self.assertRegex(said, f"{mpi} [(]{prefix}/lib[^ ]*/libshoal_mpi_{mpi}.so[)]")

    def test_project(self):
        build = suite.build()
        folder = self.scratch / "build"
        program = self.build_project(build.source / "tests/install", folder, "consumer",
                                     f"-DSHOAL_SANITIZE={build.sanitize}")
        self.check(program, folder / "CMakeFiles/consumer.dir/main.cpp.o", self.prefix)

    def test_first_program(self):
        """Alone, and over each MPI: one binary."""
        build = suite.build()
        folder = self.scratch / "first_program"
        folder.mkdir()
        text = (build.source / "docs/first_program/CMakeLists.txt").read_text()
        here, installed = "add_subdirectory(shoal)", "find_package(shoal REQUIRED)"
        self.assertIn(f"{here} # or, if it is installed: {installed}\n", text)
        (folder / "CMakeLists.txt").write_text(text.replace(here, installed))
        (folder / "hello.cpp").symlink_to(build.source / "apps/tutorial/hello.cpp")
        program = self.build_project(folder, folder / "build", "hello")
        results = [self.run_command([*build.prefix, program, "--ranks", 2])]
        results += [self.run_command([*build.launchers[mpi], 2, program],
                                     environment=suite.without_leaks()) for mpi in build.mpis]
        for result in results:
            for rank in range(2):
                self.prints(result, f"Hello from rank {rank} of 2.", times=1)

    def test_pkg_config_where_it_has_moved_to(self):
        build = suite.build()
        moved = self.prefix.rename(self.scratch / "moved to")
        self.addCleanup(moved.rename, self.prefix)
        (package, ) = moved.glob("**/shoal.pc")
        os.environ["PKG_CONFIG_PATH"] = str(package.parent)
        flags = shlex.split(self.run_command(["pkg-config", "--cflags", "--libs", "shoal"]).output)
        code, program = self.scratch / "main.o", self.scratch / "program"
        compiler = build.variables["CMAKE_CXX_COMPILER"]
        self.run_command([compiler, "-std=c++20", "-c", build.source / "tests/install/main.cpp",
                          "-o", code, *flags])
        self.run_command([compiler, code, "-o", program, *flags])
        self.check(program, code, moved)


if __name__ == "__main__":
    suite.main()
