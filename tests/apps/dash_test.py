#!/usr/bin/env python3
"""dash_test.py PROGRAM...: `--json -` prints JSON alone on standard output, and makes no file."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = {pathlib.Path(program).name: program for program in sys.argv[1:]}
DENSE = ["--n", "96", "--tile", "32"]
SMALL = {"barnes_hut": ["--bodies", "200"], "bfs": ["--scale", "6", "--roots", "2"],
         "ebms": ["--particles", "200"], "flow_broadcast": ["--bytes", "8", "--repeat", "1"],
         "insitu": ["--timesteps", "2"], "jacobi": ["--n", "32", "--iterations", "2"],
         "kmeans": ["--points", "100"], "nas_cg": ["--class", "S"], "sparse_solve": ["--grid", "8"]}


class Dash(unittest.TestCase):
    def test_every_program(self):
        for name, program in PROGRAMS.items():
            ranks = "8" if name == "gemm3d" else "4"
            command = [program, *SMALL.get(name, DENSE), "--ranks", ranks, "--json", "-"]
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(command, capture_output=True, text=True, cwd=folder,
                                      check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIsInstance(json.loads(done.stdout), dict)
                self.assertEqual(list(pathlib.Path(folder).iterdir()), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
