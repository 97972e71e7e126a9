"""Programs under a locale with a decimal comma and grouped thousands read and write what they do
under that of C."""

import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

import suite

LOCALE = "de_DE.UTF-8"
TURKISH = "tr_TR.UTF-8"
SIMULATED = "--sim --ranks 2 --workers 2"

# Programs, options, and files that they write, by the word that stands for the file.
RUNS = {
    "options": f"flow_cholesky --n 96 --tile 24 {SIMULATED} --sim-step 1500ns --sim-log 40 "
               "--sim-net loggp:1.5us,0.25us,0.5us,0.125ns,4K --sim-flops 25G "
               "--sim-faults delay:p=0.25,by=2500ns",
    "graph of a flow": f"lu --n 96 --tile 24 {SIMULATED} --flow-dag FILE",
    "trace": f"cholesky --n 256 --tile 32 {SIMULATED} --trace FILE",
    "matrix": f"least_squares {suite.SMALL_DATA}/tall.mtx --tile 2 {SIMULATED} --out FILE",
    "symmetric matrix": f"cholesky --matrix {suite.SMALL_DATA}/spd_tiny.mtx --tile 2 {SIMULATED}",
    "graph": f"bfs --graph {suite.SMALL_DATA}/small_graph.mtx {SIMULATED}",
    "analytics": f"insitu {SIMULATED} --out FILE",
    "JSON": f"jacobi --n 32 --iterations 5 {SIMULATED} --json -",
    "memory": f"overlap {SIMULATED} --tasks 4 --task-mb 1 --sim-memory "
              f"{suite.SOURCE}/apps/contention/machines/henri.json",
    "model": f"contention predict {suite.SOURCE}/apps/contention/machines/henri.json",
    "help": "cholesky --help",
}
SLIPS = {
    "graph": "slips_graph priority_too_large --ranks 2 --workers 2",
    "missing": "slips_graph dependency_missing --check-graphs=false --ranks 2 --workers 2",
    "key": "slips_graph key_too_large --ranks 2 --workers 2",
    "input": "slips_graph input_of_another_type --ranks 2 --workers 2",
    "value": "slips_flow value_too_large --ranks 2 --workers 2",
    "tag": "slips_flow tag_too_large --ranks 2 --workers 2",
    "heap": "slips_memory heap_full --ranks 2 --workers 2",
}


class Locales(suite.Suite):

    @classmethod
    def setUpClass(cls):
        """Makes the locales, once: localedef takes seconds for each."""
        cls.made = tempfile.TemporaryDirectory(prefix="shoal-suite-")
        cls.addClassCleanup(cls.made.cleanup)
        for name in (LOCALE, TURKISH) if shutil.which("localedef") else ():
            subprocess.run(["localedef", "--no-archive", "-i", name.split(".")[0], "-f", "UTF-8",
                            f"{cls.made.name}/{name}"], capture_output=True)

    def setUp(self):
        library = suite.build().find("libshoal_program_locale.so")
        if library is None or not pathlib.Path(self.made.name, LOCALE, "LC_NUMERIC").exists():
            self.skipTest("no localedef with sources of locales, or no library to preload")
        self.scratch = self.folder()
        # LC_ALL alone changes nothing: the program has to take it, which the library does.
        self.german = {"LOCPATH": self.made.name, "LC_ALL": LOCALE, "LD_PRELOAD": str(library)}

    def test_settings_of_edat(self):
        """Letters change their case as in ASCII: Turkish has another I."""
        if not pathlib.Path(self.made.name, TURKISH, "LC_CTYPE").exists():
            self.skipTest(f"localedef has no sources of {TURKISH}")
        turkish = {**self.german, "LC_ALL": TURKISH}
        for mapping in ("LINEAR", "LinearFromCore"):
            self.run_command([self.program("edat_interface")],
                             environment={**turkish, "EDAT_WORKER_MAPPING": mapping})
        done = self.run_command([self.program("edat_interface")], code=None,
                                environment={**turkish, "EDAT_WORKER_MAPPING": "SIDEWAYS"})
        self.assertIn("'SIDEWAYS' is not allowed", done.errors)

    def both(self, line, code):
        """What a program prints and writes in the locale of C, and in the other one."""
        name, *words = shlex.split(line)
        results = []
        for environment in ({"LC_ALL": "C"}, self.german):
            path = self.scratch / "written"
            path.unlink(missing_ok=True)
            command = [self.program(name), *(str(path) if word == "FILE" else word
                                             for word in words)]
            done = self.run_command(command, code=code, environment=environment)
            results.append((done.code, done.output, done.errors,
                            path.read_bytes() if path.exists() else b""))
        if "FILE" in words:
            self.assertTrue(results[0][3], f"it has written nothing: {self.last}")
        return results

    def test_locale_is_taken(self):
        """The library does what it is for."""
        text = subprocess.run([self.program("shoal_says_a_number")], capture_output=True, text=True,
                              env=self.german).stdout
        self.assertEqual(text, "1.234,5\n")

    @suite.cases(RUNS)
    def test_run(self, line):
        # The tasks of --flow-dag do not run, so the result is wrong.
        plain, german = self.both(line, 1 if "--flow-dag" in line else 0)
        self.assertEqual(plain[1:3], german[1:3])
        if "--trace" not in line:
            self.assertEqual(plain[3], german[3])

    @suite.cases(SLIPS)
    def test_error(self, line):
        plain, german = self.both(line, None)
        self.assertEqual(plain[:3], german[:3])

    def test_performance_models(self):
        """Models that one run has written are read by the next, in either locale."""
        models = self.scratch / "models"
        for environment in (self.german, {"LC_ALL": "C"}, self.german):
            self.run_command([self.program("qr"), "--n", 128, "--tile", 32, "--ranks", 2,
                              "--flow-scheduler", "completion", "--flow-models", models],
                             environment=environment)
        (file,) = models.iterdir()
        lines = file.read_text().splitlines()
        self.assertGreater(len(lines), 1)
        for one in lines[1:]:
            self.assertRegex(one, r"^\d+ \d+ [0-9.e+-]+ [0-9.e+-]+ \w+$")

    def test_settings_file(self):
        """Options of a file, and a plan of faults in one."""
        plan = self.scratch / "plan"
        plan.write_text("delay:p=0.5,by=1500ns\n")
        settings = self.scratch / "settings"
        settings.write_text(f"sim = true\nranks = 4\nsim-step = 1500ns\nsim-faults = @{plan}\n"
                            "stall-report = 1500ms\n")
        plain, german = self.both(f"cholesky --n 128 --tile 32 --config {settings}", 0)
        self.assertEqual(plain, german)

    def test_trace_is_read(self):
        """shoal-trace reads a trace of the other locale, and writes the same text in it."""
        path = self.scratch / "a.trace"
        self.run_command([self.program("cholesky"), "--n", 256, "--tile", 32, "--sim", "--ranks",
                          2, "--trace", path], environment=self.german)
        texts = []
        for arguments in (["summary"], ["convert", "--to", "csv"], ["convert", "--to", "perfetto"]):
            for environment in ({"LC_ALL": "C"}, self.german):
                file = self.scratch / "converted"
                output = ["--output", file] if arguments[0] == "convert" else []
                text = self.run_command([self.program("shoal-trace"), *arguments, *output, path],
                                        environment=environment).output
                texts.append(file.read_text() if output else text)
        for plain, german in zip(texts[::2], texts[1::2]):
            self.assertTrue(plain)
            self.assertEqual(plain, german)
            self.assertFalse(re.search(r"\d,\d\d\d\.", german))


if __name__ == "__main__":
    suite.main()
