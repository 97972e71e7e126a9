"""The Fortran module shoal_events."""

import suite


class Events(suite.Suite):

    def test_reduction(self):
        self.as_its_source_says("fortran_reduction", "tests/fortran/reduction.f90", "--workers 2",
                                ranks=[1, 2, 4])


if __name__ == "__main__":
    suite.main()
