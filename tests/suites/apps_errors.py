"""Applications that fail in an orderly way: each says why, once, on standard error."""

import suite

BAD_FILES = {  # tests/tools/data/<name>.mtx: the line, and the message about it
    "empty": (1, "the file is empty"),
    "bad_banner": (1, "the first line must begin with %%MatrixMarket"),
    "pattern": (1, "field 'pattern' is not supported"),
    "not_square": (4, "the matrix is 2 x 3: it must be square"),
    "index_out_of_range": (4, r"row index 3 is out of range 1\.\.2"),
    "upper_entry": (4, r"entry \(1, 2\) lies above the diagonal"),
    "not_a_number": (4, "value is not a number: 'four'"),
    "truncated": (4, "the file ends after 2 of 4 entries"),
    "trailing": (6, "data after the last of the 2 entries"),
    "not_symmetric": (4, r"entry \(2, 1\) is 1 but \(1, 2\) is 1\.5"),
}
NO_FILE = "/nonexistent.mtx: cannot open this file"
NOT_POSITIVE = r"not positive definite: tile \(1, 1\), pivot 2 \(row 4 of the matrix\)"
REFUSALS = {  # DATA is the folder tests/tools/data
    "cholesky --matrix /nonexistent.mtx --ranks 2": NO_FILE,
    "cholesky --matrix DATA/indefinite.mtx --tile 2 --ranks 1": NOT_POSITIVE,
    "cholesky --matrix DATA/indefinite.mtx --tile 2 --ranks 4": NOT_POSITIVE,
    "cholesky --foo --ranks 2": "cholesky: .*--foo",
    "cholesky --tile 0 --ranks 2": "cholesky: --tile: ",
    "cholesky --grid 2x3 --ranks 4": "--grid 2x3: that makes 6 ranks, but the world has 4",
    "cholesky --sim-dry --kernel-rates /nonexistent --ranks 2":
        "/nonexistent: cannot open this file of kernel rates",
    "cholesky --n 100 --ranks 2 --trace -": "a trace cannot go to standard output",
    "gemm2d --sim-dry --kernel-rates DATA/not_symmetric.mtx":
        "not_symmetric.mtx: this file has no kernel rates",
    "gemm3d --ranks 9": r"must be a cube \(1, 8, 27, 64, \.\.\.\), not 9: start 8 or 27",
    "gemm3d --n 8 --tile 8 --ranks 8": "1 tiles in a row are too few for 2 ranks",
    "calibrate net": "measured between two ranks",
    "calibrate net --ranks 2 --sizes 64": "--sizes is for kernels",
    "calibrate net --sim --ranks 2": "a simulated world is not measured",
    "calibrate kernels --workers 1 --repetitions 2": "--repetitions is for net",
    "calibrate kernels --workers 1 --out /nonexistent/k.json":
        "cannot write to /nonexistent/k.json",
    "bfs --variant sideways --ranks 2": "'sideways' is none of async, events, level_am",
    "bfs --scale 99 --ranks 2": "bfs: --scale: .*99",
    "bfs --graph /nonexistent.mtx --ranks 2": NO_FILE,
    "bfs --graph DATA/not_square.mtx --ranks 3":
        "not_square.mtx:4: the matrix is 2 x 3: it must be",
    "bfs --graph DATA/diagonal.mtx --ranks 3": "diagonal.mtx: no vertex has an edge to another one",
    "insitu --out /nonexistent/x.csv --ranks 2": "/nonexistent/x.csv: cannot be written",
    "insitu --out /dev/full --ranks 3": "/dev/full: cannot be written",
    "lu --n 48 --tile 24 --ranks 2 --flow-dag /dev/full":
        "--flow-dag /dev/full: this file cannot be written, and is not whole",
    "nas_cg --class S --ranks 3": r"nas_cg runs on 1, 2, 4, 8, \.\.\. ranks, not on 3",
    "nas_cg --class X": "--class: X not in .S,W,A.",
    "hub_bfs --strategy nowhere --ranks 2": "'nowhere' is none of everywhere, neighbors, striped",
    "kmeans --points 5 --clusters 9 --ranks 2": "--clusters 9: there are only 5 points",
    "least_squares DATA/wide.mtx --ranks 2": "is 2 x 3: it needs at least as many rows as columns",
    "least_squares DATA/dependent.mtx --tile 2 --ranks 2":
        "the columns of the matrix are linearly dependent",
    "least_squares /nonexistent.mtx --ranks 2": NO_FILE,
    "least_squares DATA/tall.mtx --n 10 --ranks 2": "--n excludes FILE",
    "sparse_solve DATA/not_square.mtx --ranks 2": "data/not_square.mtx:4: .*must be square",
    "sparse_solve DATA/empty_row.mtx --ranks 2": "row 2 has no element.*singular",
    "sparse_solve /nonexistent.mtx --ranks 2": "/nonexistent.mtx",
    "ebms --particles -1": "--particles",
    "gups --updates 0": "--updates",
}


class Errors(suite.Suite):
    timeout = 60

    @suite.cases({name: (name, *bad) for name, bad in BAD_FILES.items()})
    def test_bad_file(self, bad):
        name, line, message = bad
        self.refused("cholesky", f"--matrix {suite.SMALL_DATA}/{name}.mtx --ranks 3",
                     f"data/{name}.mtx:{line}: {message}")

    @suite.cases({line: (line, message) for line, message in REFUSALS.items()})
    def test_refusal(self, refusal):
        line, message = refusal
        self.refused(*line.replace("DATA", str(suite.SMALL_DATA)).split(" ", 1), message)

    def test_pinning_that_the_system_refuses(self):
        """A machine that is not this one: it warns once. A process reads its machine once."""
        result = self.embedded("tutorial_hello", "--ranks 4 --workers 4 --pin pu",
                               environment={"HWLOC_COMPONENTS": "synthetic,stop",  # not of ctest
                                            "HWLOC_SYNTHETIC": "core:16 pu:1"})
        self.assertEqual(result.errors.count("\n"), 1, result)
        self.assertIn("refuses to bind 16 of 16 workers", result.errors)


if __name__ == "__main__":
    suite.main()
