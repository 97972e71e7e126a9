"""Every program of the tutorial: alone, on 3 ranks, and over an MPI in 2 processes with 1 and with
2 ranks each."""

import suite


class Tutorial(suite.Suite):
    timeout = 60

    @suite.cases(suite.TUTORIAL)
    def test(self, name):
        for ranks in (1, 3):
            self.embedded(name, f"--ranks {ranks} --workers 2")
        for ranks in (1, 2):
            for mpi in suite.build().mpis[:1]:
                self.launched(name, mpi, 2, f"--workers 2 --ranks-per-process {ranks}")


if __name__ == "__main__":
    suite.main()
