"""A shoal for sanitizers, installed: its flags, headers and plug-ins reach programs that use it,
also where it has moved to. (install_package.py has more, without sanitizers.)"""

import os
import shlex

import suite


class Sanitized(suite.Suite):

    def installed(self):
        """A folder for the case, and the library installed there, without its tools."""
        build = suite.build()
        scratch = build.scratch("install_sanitized")
        prefix = scratch / "prefix"
        for component in ("shoal", *build.mpis):
            self.run_command([build.variables["CMAKE_COMMAND"], "--install", build.folder,
                              "--prefix", prefix, "--component", component])
        return scratch, prefix

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
        scratch, prefix = self.installed()
        folder, cmake = scratch / "build", build.variables["CMAKE_COMMAND"]
        self.run_command([cmake, "-S", build.source / "tests/install", "-B", folder, "-G", "Ninja",
                          f"-DCMAKE_CXX_COMPILER={build.variables['CMAKE_CXX_COMPILER']}",
                          f"-DCMAKE_PREFIX_PATH={prefix}", f"-DSHOAL_SANITIZE={build.sanitize}",
                          "-DSHOAL_WARN_BUILD_TYPE=OFF"])
        self.run_command([cmake, "--build", folder, "--target", "consumer"])
        self.check(folder / "consumer", folder / "CMakeFiles/consumer.dir/main.cpp.o", prefix)

    def test_pkg_config_where_it_has_moved_to(self):
        build = suite.build()
        scratch, prefix = self.installed()
        moved = prefix.rename(scratch / "moved to")
        (package, ) = moved.glob("**/shoal.pc")
        os.environ["PKG_CONFIG_PATH"] = str(package.parent)
        flags = shlex.split(self.run_command(["pkg-config", "--cflags", "--libs", "shoal"]).output)
        code, program = scratch / "main.o", scratch / "program"
        compiler = build.variables["CMAKE_CXX_COMPILER"]
        self.run_command([compiler, "-std=c++20", "-c", build.source / "tests/install/main.cpp",
                          "-o", code, *flags])
        self.run_command([compiler, code, "-o", program, *flags])
        self.check(program, code, moved)


if __name__ == "__main__":
    suite.main()
