"""Every program of the tutorial: alone, on 3 ranks, and over an MPI in 2 processes with 1 and with
2 ranks each. Under sanitizers: some programs, over MPI with 1 or 2 ranks."""

import struct

import suite


class Tutorial(suite.Suite):
    timeout = 60

    @suite.cases(suite.TUTORIAL)
    def test(self, name):
        if suite.build().sanitize and name not in suite.build().tutorials:
            self.skipTest("builds without sanitizers run it")
        for ranks in (1, 3):
            self.embedded(name, f"--ranks {ranks} --workers 2")
        of_processes = (1, 2)
        if suite.build().sanitize:
            of_processes = (1 + suite.TUTORIAL.index(name) % 2,)
        for ranks in of_processes:
            for mpi in suite.build().mpis[:1]:
                self.launched(name, mpi, 2, f"--workers 2 --ranks-per-process {ranks}")


def jacobi_checksum(columns=48, rows=64, steps=60):
    """That of apps/tutorial/jacobi.hpp, computed by the plain loops of a serial program."""
    field = [[1.0] * columns, *([0.0] * columns for _ in range(rows)), [0.0] * columns]
    for _ in range(steps):
        new = [field[0]]
        for above, row, below in zip(field, field[1:], field[2:]):
            sides = [0.0, *row, 0.0]
            new.append([0.25 * (above[c] + below[c] + (sides[c] + sides[c + 2]))
                        for c in range(columns)])
        field = [*new, field[-1]]
    points = [point for row in field[1:-1] for point in row]
    bits = struct.unpack(f"{len(points)}Q", struct.pack(f"{len(points)}d", *points))
    return f"checksum {sum(bits) % 2**64:016x}\n"


class FromMpi(suite.Suite):
    """The programs of docs/from_mpi.md and docs/mpi.md."""

    timeout = 60

    @suite.cases(["jacobi_flow", "jacobi_graph"])
    def test_same_numbers(self, name):
        name = f"tutorial_{name}"
        expected = jacobi_checksum()
        results = [self.embedded(name, f"--workers 2 {more}")
                   for more in ("", "--ranks 3", "--sim --ranks 100 --sim-seed 7")]
        results += [self.launched(name, mpi, 2, "--workers 2") for mpi in suite.build().mpis[:1]]
        for result in results:
            self.assertEqual(result.output, expected, str(result))

    def test_jacobi_mpi(self):
        for processes in (1, 3):
            result = self.launched("tutorial_jacobi_mpi", self.first_mpi(), processes)
            self.assertEqual(result.output, jacobi_checksum(), str(result))

    def test_communicator(self):
        result = self.launched("tutorial_communicator", self.first_mpi(), 3, "--workers 1")
        self.assertEqual(sorted(result.output.splitlines()), ["a world of 1", "a world of 2"],
                         str(result))


if __name__ == "__main__":
    suite.main()
