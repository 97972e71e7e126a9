"""Programs with edat.h: the listings of the paper and others, which say what they print."""

import suite

LISTINGS = "tests/edat/listings"


class Programs(suite.Suite):

    def test_listings(self):
        sources = sorted((suite.build().source / LISTINGS).glob("*.c"))
        self.assertGreater(len(sources), 15)
        for source in sources:
            with self.subTest(source=source.stem):
                self.as_its_source_says(f"edat_{source.stem}", f"{LISTINGS}/{source.name}")

    def test_fortran(self):
        """A module that calls the library as EDAT's own does."""
        self.as_its_source_says("edat_fortran", "tests/edat/fortran/calls.f90")

    def test_program_with_mpi(self):
        if not suite.build().mpis:
            self.skipTest("this build has no MPI")
        self.as_its_source_says("edat_with_mpi", "tests/edat/with_mpi.c")

    def test_interface(self):
        """Most of what they test, the compiler does."""
        self.embedded("edat_interface")
        self.embedded("edat_interface_cxx")

    def test_matching(self):
        """Random programs, compared with a small model of the rules."""
        self.embedded("edat_matching")

    def test_workers_are_reported(self):
        environment = {"EDAT_REPORT_WORKER_MAPPING": "True", "EDAT_WORKER_MAPPING": "linear",
                       "EDAT_NUM_WORKERS": "2"}
        result = self.embedded("edat_listing05", environment=environment)
        self.assertIn("edat: rank 0: worker 1 is mapped to package", result.output + result.errors)


if __name__ == "__main__":
    suite.main()
