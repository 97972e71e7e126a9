"""shoal as a subfolder of a project: what that gets, and "A first program" of the README."""

import json
import re
import shutil

import suite


class Subfolder(suite.Suite):
    """Nothing is compiled here: the first program does that."""

    def configure(self, *options):
        """Configures the project of tests/install; the output, without the breaks of its lines."""
        build = suite.build()
        result = self.run_command([build.variables["CMAKE_COMMAND"], "-S",
                                   build.source / "tests/install", "-B", self.folder, "-G", "Ninja",
                                   f"-DCMAKE_CXX_COMPILER={build.variables['CMAKE_CXX_COMPILER']}",
                                   f"-DSHOAL_SOURCE_DIR={build.source}", *options])
        return re.sub("\n +", " ", result.output + result.errors)

    def setUp(self):
        self.folder = suite.build().scratch("install_subfolder")

    def commands(self):
        """The compiler's, by the names of the sources."""
        entries = json.loads((self.folder / "compile_commands.json").read_text())
        return {entry["file"].rsplit("/", 1)[1]: entry["command"] for entry in entries}

    def ninja_commands(self):
        return self.run_command(["ninja", "-C", self.folder, "-t", "commands", "all"]).output

    def test_without_a_build_type(self):
        """A warning, and shoal is optimized. A chosen optimization stays."""
        self.assertEqual(self.configure().count("has no build type"), 1)
        self.assertRegex(self.commands()["shoal_sched_sched_unity_0.cpp"],
                         "-O2 .*-DNDEBUG|-DNDEBUG .*-O2")
        self.assertNotIn("no build type", self.configure("-DCMAKE_CXX_FLAGS=-O0"))
        self.assertIn("-O0", self.commands()["shoal_sched_sched_unity_0.cpp"])
        self.assertNotIn("-O2", "\n".join(self.commands().values()))

    def test_what_is_built_and_installed(self):
        """What the programs link, and nothing; all of it, if the project asks for that."""
        self.configure()
        prefix = self.folder / "prefix"
        self.run_command([suite.build().variables["CMAKE_COMMAND"], "--install", self.folder,
                          "--prefix", prefix])
        self.assertEqual(list(prefix.glob("**/*")), [])
        commands = self.ninja_commands()
        self.assertIn(" -o consumer ", commands)
        for mpi in suite.build().mpis:
            self.assertIn(f"libshoal_mpi_{mpi}.so", commands)
        self.assertNotRegex(commands, "c_api|edat_|fortran")
        self.configure("-DSHOAL_INSTALL=ON")
        self.assertRegex(self.ninja_commands(), "-o shoal/src/libshoal_edat.so.[0-9]")

    def test_flags_that_types_and_calls_depend_on_reach_the_users(self):
        said = self.configure("-DSHOAL_WARN_BUILD_TYPE=OFF", "-DSHOAL_SANITIZE=address",
                              "-DSHOAL_GLIBCXX_DEBUG=ON")
        self.assertNotIn("no build type", said)
        for source in ("shoal_sched_sched_unity_0.cpp", "main.cpp"):
            self.assertRegex(self.commands()[source], "-D_GLIBCXX_DEBUG.*-fsanitize=address")

    def test_precompiled_headers_need_no_launcher(self):
        self.configure("-DSHOAL_PCH=ON")
        ours = re.findall(r".* -o shoal/.*/cmake_pch.*", self.ninja_commands())
        self.assertNotEqual(ours, [])
        for command in ours:
            self.assertIn("new_output /", command)

    def test_the_compiler_cache_leaves_out_precompiled_headers(self):
        """They name headers of one checkout: the Python module's, from the cache, hid those of
        another."""
        commands = self.run_command(["ninja", "-C", suite.build().folder, "-t", "commands", "all"])
        headers = re.findall(r".*\.[pg]ch -c .*", commands.output)
        self.assertNotEqual(headers, [])
        for command in headers:
            self.assertIn("/cmake/new_output ", command)


class FirstProgram(suite.Suite):

    timeout = 600

    def test_word_for_word(self):
        """Only the optimization and units of few files are left out: the compiler takes a third of
        the time then. With clang, where there is one: it takes 99 s of a processor, gcc 164, and
        gcc builds all else."""
        build = suite.build()
        variables = build.variables
        clang = shutil.which("clang++-16") or shutil.which("clang++")
        folder = build.scratch("first_program")
        shutil.copy(build.source / "apps/tutorial/hello.cpp", folder)
        shutil.copy(build.source / "docs/first_program/CMakeLists.txt", folder)
        (folder / "shoal").symlink_to(build.source)
        result = self.run_command([
            variables["CMAKE_COMMAND"], "-G", "Ninja", "-S", folder, "-B", folder / "build",
            "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O0",
            "-DCMAKE_UNITY_BUILD_BATCH_SIZE=0",
            f"-DCMAKE_CXX_COMPILER={clang or variables['CMAKE_CXX_COMPILER']}",
            f"-DCMAKE_CXX_COMPILER_LAUNCHER={variables['SHOAL_TEST_CCACHE']}"])
        self.assertNotIn("Warning", result.output + result.errors)
        self.run_command([variables["CMAKE_COMMAND"], "--build", folder / "build", "--parallel", 2])
        self.says_hello(folder / "build")
        library = (folder / "build/shoal/src/libshoal.a").read_bytes()
        library = re.sub(rb"\(lambda at [^)]*\)", b"", library)  # clang's names
        for place in (build.source, folder):
            self.assertFalse(str(place).encode() in library, place)

        # As a shared library, of the same objects.
        self.run_command([variables["CMAKE_COMMAND"], "-DBUILD_SHARED_LIBS=ON", folder / "build"])
        self.run_command([variables["CMAKE_COMMAND"], "--build", folder / "build", "--parallel", 2])
        self.assertRegex(self.says_hello(folder / "build"), r"NEEDED +libshoal\.so\.[0-9]")

    def says_hello(self, folder):
        """What objdump says of the program, which runs."""
        output = self.run_command([folder / "hello", "--ranks", 4]).output
        for rank in range(4):
            self.assertIn(f"Hello from rank {rank} of 4.", output)
        return self.run_command(["objdump", "-p", folder / "hello"]).output


if __name__ == "__main__":
    suite.main()
