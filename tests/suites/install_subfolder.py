"""shoal as a subfolder of a project: what that gets, and "A first program" of the README."""

import json
import re
import shlex
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
        self.compiler = (shutil.which("clang++-16") or shutil.which("clang++")
                         or build.variables["CMAKE_CXX_COMPILER"])
        folder = build.scratch("first_program")
        self.hello = folder / "build/hello"
        shutil.copy(build.source / "apps/tutorial/hello.cpp", folder)
        shutil.copy(build.source / "docs/first_program/CMakeLists.txt", folder)
        (folder / "shoal").symlink_to(build.source)
        self.configure(folder, "-DCMAKE_UNITY_BUILD_BATCH_SIZE=0")
        self.build_hello()
        self.says_hello()
        library = (folder / "build/shoal/src/libshoal.a").read_bytes()
        library = re.sub(rb"\(lambda at [^)]*\)", b"", library)  # clang's names
        for place in (build.source, folder):
            self.assertFalse(str(place).encode() in library, place)

        # As a shared library, of the same objects.
        self.build_hello("-DBUILD_SHARED_LIBS=ON")
        self.assertRegex(self.says_hello(), r"NEEDED +libshoal\.so\.[0-9]")
        self.build_hello("-DBUILD_SHARED_LIBS=OFF")
        for mpi in [*build.mpis, "system"] if build.mpis else []:
            with self.subTest(linked=mpi):
                self.with_mpi_linked_in(mpi)

    def configure(self, folder, *options):
        variables = suite.build().variables
        result = self.run_command([
            variables["CMAKE_COMMAND"], "-G", "Ninja", "-S", folder, "-B", folder / "build",
            "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O0",
            f"-DCMAKE_CXX_COMPILER={self.compiler}",
            f"-DCMAKE_CXX_COMPILER_LAUNCHER={variables['SHOAL_TEST_CCACHE']}", *options])
        self.assertNotIn("Warning", result.output + result.errors)

    def build_hello(self, *options):
        """With the objects that are there, as far as the options leave them what they are."""
        cmake, folder = suite.build().variables["CMAKE_COMMAND"], self.hello.parent
        if options:
            self.run_command([cmake, *options, folder])
        self.run_command([cmake, "--build", folder, "--target", "hello", "--parallel", 2])

    def with_mpi_linked_in(self, linked):
        """SHOAL_MPI_STATIC: no plug-in is built or loaded, one launcher suits the program, and the
        others are refused. The same of a program that is linked by pkg-config, and, of one of them,
        by find_package with what was installed."""
        build = suite.build()
        self.build_hello(f"-DSHOAL_MPI_STATIC={linked}", "-DSHOAL_INSTALL=ON")
        said = self.run_command([self.hello, "--info"]).output
        self.assertIn(f"MPI plug-ins: {linked}, linked in\n", said)
        others = [self.link_by_pkg_config()]
        if linked == "system":
            others.append(self.build_with_installed())
        suits = []
        for mpi in build.mpis:
            launch = [*build.launchers[mpi], 2]
            result = self.run_command([*launch, self.hello], code=range(256))
            if result.code != 0:
                self.assertIn("finds a world of one", result.errors)
                continue
            suits.append(mpi)
            for said in (result, *(self.run_command([*launch, program]) for program in others)):
                for rank in range(2):
                    self.prints(said, f"Hello from rank {rank} of 2.", times=1)
            if linked == "system":
                refused = self.run_command([*launch, self.hello, "--mpi-plugin", mpi],
                                           code=suite.FAILURE)
                self.assertIn(f"has the MPI {linked} linked in", refused.errors)
        if linked == "system":
            self.assertEqual(len(suits), 1)
        else:
            self.assertEqual(suits, [linked])

    def link_by_pkg_config(self):
        """The program, by shoal.pc with the folders of the build."""
        folder, program = self.hello.parent, self.hello.with_name("hello_by_hand")
        folders = {"libdir": folder / "shoal/src", "includedir": suite.build().source / "include"}
        flags = self.run_command(
            ["pkg-config", *(f"--define-variable={name}={path}" for name, path in folders.items()),
             "--libs", "shoal"],
            environment={"PKG_CONFIG_PATH": f"{folder}/shoal/pkgconfig"}).output
        (code, ) = folder.glob("**/hello.cpp.o")
        self.run_command([self.compiler, code, "-o", program, *shlex.split(flags)])
        return program

    def build_with_installed(self):
        """The program of a project that has the installed library."""
        cmake, build = suite.build().variables["CMAKE_COMMAND"], self.hello.parent
        folder = build.with_name("installed")
        self.run_command([cmake, "--build", build, "--target", "shoal_c", "shoal_edat"])
        self.run_command([cmake, "--install", build, "--prefix", folder / "prefix", "--component",
                          "Unspecified"])
        text = (build.parent / "CMakeLists.txt").read_text()
        (folder / "CMakeLists.txt").write_text(
            text.replace("add_subdirectory(shoal)", "find_package(shoal REQUIRED)"))
        shutil.copy(build.parent / "hello.cpp", folder)
        self.configure(folder, f"-DCMAKE_PREFIX_PATH={folder}/prefix")
        self.run_command([cmake, "--build", folder / "build"])
        return folder / "build/hello"

    def says_hello(self):
        """What objdump says of the program, which runs."""
        output = self.run_command([self.hello, "--ranks", 4]).output
        for rank in range(4):
            self.assertIn(f"Hello from rank {rank} of 4.", output)
        return self.run_command(["objdump", "-p", self.hello]).output


if __name__ == "__main__":
    suite.main()
