"""The flags of a shoal for ThreadSanitizer reach the program that uses it installed."""

import suite


class Sanitized(suite.Suite):

    def test_project(self):
        build = suite.build()
        scratch = build.scratch("install_sanitized")
        prefix, folder = scratch / "prefix", scratch / "build"
        cmake = build.variables["CMAKE_COMMAND"]
        self.run_command([cmake, "--install", build.folder, "--prefix", prefix])
        self.run_command([cmake, "-S", build.source / "tests/install", "-B", folder, "-G", "Ninja",
                          f"-DCMAKE_CXX_COMPILER={build.variables['CMAKE_CXX_COMPILER']}",
                          f"-DCMAKE_PREFIX_PATH={prefix}", "-DSHOAL_SANITIZE=thread",
                          "-DSHOAL_WARN_BUILD_TYPE=OFF"])
        self.run_command([cmake, "--build", folder, "--target", "consumer"])
        main = self.run_command(["nm", folder / "CMakeFiles/consumer.dir/main.cpp.o"])
        self.assertIn("__tsan_func_entry", main.output)
        self.run_command([*build.prefix, folder / "consumer", "--ranks", 3, "--workers", 2])
        (package, ) = prefix.glob("**/shoal.pc")
        self.assertRegex(package.read_text(), "Cflags: .*-fsanitize=(?s:.*)\nLibs: .*-fsanitize=|"
                                              "Libs: .*-fsanitize=(?s:.*)\nCflags: .*-fsanitize=")


if __name__ == "__main__":
    suite.main()
