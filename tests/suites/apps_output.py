"""Standard output and error of programs: JSON alone on request, and streams that cannot be
written."""

import json
import os
import shlex
import subprocess

import suite

DENSE = "--n 96 --tile 32"
WITH_JSON = {"barnes_hut": "--bodies 200", "bfs": "--scale 6 --roots 2", "cholesky": DENSE,
             "ebms": "--particles 200", "flow_broadcast": "--bytes 8 --repeat 1",
             "flow_cholesky": DENSE, "gemm2d": DENSE, "gemm3d": DENSE, "insitu": "--timesteps 2",
             "jacobi": "--n 32 --iterations 2", "kmeans": "--points 100", "least_squares": DENSE,
             "lu": DENSE, "nas_cg": "--class S", "qr": DENSE, "sparse_solve": "--grid 8"}
TILES = "--n 60 --tile 20"
RESULTS = [
    "tutorial_hello --info --workers 1", "tutorial_hello --help", "tutorial_hello --version",
    "tutorial_hello --sim --info --workers 1", "cholesky -h", "contention -h",
    "calibrate net --ranks 2 --workers 1 --repetitions 1",
    *(f"{line} --workers 1" for line in (
        "barnes_hut --bodies 200", "bfs --scale 5", f"cholesky {TILES}",
        "components --vertices 200", "ebms --particles 200", f"flow_cholesky {TILES}",
        f"gemm2d {TILES}", f"gemm3d {TILES} --ranks 8", "gups --log-size 8",
        "hub_bfs --vertices 100", "insitu --timesteps 2 --size 10", "jacobi --n 10",
        "kmeans --points 200", f"least_squares {TILES}", f"lu {TILES}",
        "min_element --step 50 --count 2", "nas_cg --class S", f"qr {TILES}", "saxpy --n 100",
        "sparse_solve --grid 5")),
    "tutorial_hello --sim --ranks 2", "tutorial_teams --ranks 4",
    *(f"tutorial_{name} --ranks 2" for name in (
        "active_message", "collectives", "costs", "errors", "hello", "memory", "model",
        "multicast", "names", "objects", "tracing", "waiting"))]
MESSAGES = [
    "tutorial_hello --ranks x", "cholesky --foo", f"cholesky {TILES} --sim --sim-log 20",
    "c_event_calls mine --sim --sim-log 9", "c_event_failures task --ranks 3",
    "edat_refusals before_init",
    "shoal-trace check /nonexistent"]


class Json(suite.Suite):

    @suite.cases({name: (name, size) for name, size in WITH_JSON.items()})
    def test_alone(self, case):
        """`--json -` prints JSON alone, and makes no file."""
        name, size = case
        folder = self.folder()
        result = self.embedded(name, f"{size} --ranks {8 if name == 'gemm3d' else 4} --json -",
                               folder=folder)
        self.assertIsInstance(json.loads(result.output), dict)
        self.assertEqual(list(folder.iterdir()), [])


class Streams(suite.Suite):

    def words_of(self, line):
        name, *words = shlex.split(line)
        return [self.program(name), *words]

    def run_on(self, command, redirection):
        """Runs a program with streams that a shell redirects."""
        return self.run_command(["sh", "-c", f'exec "$@" {redirection}', "sh", *command], code=None)

    @suite.cases(RESULTS)
    def test_lost_results(self, line):
        """A program whose results are lost says so and fails."""
        command = self.words_of(line)
        for redirection in (">/dev/full", "1>&-"):
            done = self.run_on(command, redirection)
            self.assertNotEqual(done.code, 0, str(done))
            self.assertRegex(done.errors, "standard output|cannot write|could not be written",
                             str(done))

    @suite.cases(MESSAGES)
    def test_lost_messages(self, line):
        """A program that has lost messages only goes on, and ends as it does otherwise."""
        command = self.words_of(line)
        expected = self.run_on(command, "")
        for redirection in ("2>/dev/full", "2>&-"):
            done = self.run_on(command, redirection)
            self.assertEqual((done.code, done.output), (expected.code, expected.output), str(done))
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=writing, text=True,
                              timeout=60)
        os.close(writing)
        self.assertEqual((done.returncode, done.stdout), (expected.code, expected.output),
                         "no reader")


if __name__ == "__main__":
    suite.main()
