"""Programs with the package shoal of this build: embedded, simulated, and over MPIs."""

import contextlib
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import suite

PROGRAMS = {"tasks": "good 0", "calls": "good {ranks}", "graphs": "good", "models": "good",
            "refusals": "good", "flows": "good", "times": "good", "actors": "good",
            "thread_states": "good", "errors": "good", "collectives": "good", "foreign": "good"}
# For the cases that need packages of PyPI.
PACKAGES = ["numpy==2.4.6", "scipy==1.17.1", "dask==2026.8.0", "joblib==1.6.0",
            "hypothesis==6.170.17", "cloudpickle==3.1.3", "ipykernel==7.4.0", "nbclient==0.11.0",
            "mpi4py==4.1.2"]
NUMBA = "numba==0.68.1"  # for one case


class Programs(suite.Suite):

    def setUp(self):
        self.package = suite.build().folder / "python"
        if not any(self.package.glob("shoal/_core*.so")):
            self.skipTest("this build is without the Python package")
        self.environment = {"PYTHONPATH": str(self.package), "PYTHONDONTWRITEBYTECODE": "1",
                            "PYTHONHASHSEED": "random"}
        self.python = suite.build().variables.get("SHOAL_PYTHON_PROGRAM") or sys.executable

    def run_python(self, program, *arguments, launcher=(), code=0, **variables):
        path = suite.build().source / "tests/python" / f"{program}.py"
        return self.run_command([*launcher, *self.foreign(launcher), self.python, path, *arguments],
                                code=code, environment=self.environment | variables)

    def run_module(self, *arguments, code=0, **variables):
        return self.run_command([self.python, "-m", "shoal", *arguments], code=code,
                                environment=self.environment | variables)

    def prints_everywhere(self, name, text, **variables):
        """An example prints a text in all modes."""
        program = suite.build().source / "python/examples" / f"{name}.py"
        simulated = [self.python, "-m", "shoal", "run", "-n", 3, "--sim"]
        commands = [[self.python, program], [self.python, program, "--ranks", 5],
                    [*simulated, "--seed", 1, program], [*simulated, "--seed", 2, program]]
        for mpi in suite.build().mpis:
            commands.append([*suite.build().launchers[mpi], 2, self.python, program])
        for command in commands:
            with self.subTest(command=command):
                result = self.run_command(command, environment=self.environment | variables)
                self.assertEqual(result.output.strip(), text)
                if "--sim" in command:
                    self.assertIn("simulated 3 ranks", result.errors)

    def interrupt(self, process):
        """Sends Ctrl-C; returns what the process still prints until it ends."""
        process.send_signal(signal.SIGINT)
        return process.communicate(timeout=self.timeout)

    def places_in(self, trace):
        """Where a trace says that its tasks are, by their names."""
        page = trace.with_suffix(".html")
        self.run_command([self.program("shoal-trace"), "report", "-o", page, trace])
        return json.loads(re.search('"places":({[^}]*})', page.read_text()).group(1))

    def is_told(self, mistake, pattern):
        """A wrong program ends, and says what to do."""
        for mode in (("--ranks", 2), ("--ranks", 2, "--sim")):
            with self.subTest(mode=mode):
                result = self.run_python("mistakes", mistake, *mode, code=1, PYTHONHASHSEED="0")
                self.assertRegex(result.errors, f"(?s){pattern}")
                self.assertNotRegex(result.errors, "shoal::|Options::")
                self.assertNotIn("ended\n", result.output)

    def seeds_repeat(self):
        """100 runs in one process have the hashes and the numbers of those in another process and
        another order."""
        all_runs = []
        for arguments in ((1, 101, 1), (100, 0, -1)):
            result = self.run_python("hashes", *arguments, PYTHONHASHSEED="0")
            hashes = re.findall("with seed ([0-9]+):.*trace hash ([0-9a-f]+)", result.errors)
            runs = sorted(hashes), sorted(result.output.splitlines())
            self.assertEqual([len(part) for part in runs], [100, 100])
            all_runs.append(runs)
        self.assertEqual(*all_runs)
        self.assertGreater(len({number for _, number in hashes}), 50)
        self.assertGreater(len({line.partition(" ")[2] for line in runs[1]}), 50)

    def tells(self, pattern, result):
        self.assertRegex(result.output + result.errors, pattern)


class Embedded(Programs):

    @suite.cases(list(PROGRAMS))
    def test(self, name):
        expected = PROGRAMS[name]
        for ranks, workers in ((1, 1), (1, 4), (2, 2), (4, 1)):
            with self.subTest(ranks=ranks, workers=workers):
                result = self.run_python(name, "--ranks", ranks, "--workers", workers)
                self.assertEqual(result.output.strip(), expected.format(ranks=ranks))

    def test_many_tasks_wait_at_once(self):
        self.tells("10000 tasks", self.run_python("parked", "10000", "--workers", 2))

    def test_keys_are_the_same_in_each_process(self):
        program = (f"import sys; sys.path.append({str(suite.build().source / 'tests/python')!r}); "
                   "import graphs; graphs.print_codes()")
        codes = [self.run_command([self.python, "-c", program],
                                  environment=self.environment | {"PYTHONHASHSEED": str(seed)})
                 for seed in range(1, 4)]
        self.assertEqual(len(codes[0].output.split()), 6)
        for other in codes[1:]:
            self.assertEqual(codes[0].output, other.output)

    def test_objects_of_other_ranks(self):
        for mode in ((), ("--sim",)):
            with self.subTest(mode=mode):
                result = self.run_python("other_ranks", "--ranks", 3, *mode, PYTHONHASHSEED="0")
                self.assertEqual(result.output, "good\n")

    def test_runtimes(self):
        self.assertEqual(self.run_python("runtimes").output, "good\ngood\n")

    TRACED = {"calls": "distant", "flows": "scan", "graphs": "tree",
              "models": "check_arrays.<locals>.adds"}

    @suite.cases(list(TRACED))
    def test_traced(self, name):
        """Traces show functions of Python where they are, and nothing of C++."""
        path = self.folder() / "run.trace"
        self.run_python(name, "--ranks", 2, "--workers", 2, "--trace", path)
        trace = self.program("shoal-trace")
        events = self.run_command([trace, "convert", "--to", "csv", "-o", "-", path]).output
        self.assertNotIn("shoal::", events)
        self.assertNotIn(',"task",', events)  # each has the name of its function
        said = json.loads(self.run_command([trace, "why", "--json", path]).output)
        self.assertRegex(said["place"], r"^$|\.py:[1-9]")
        places = self.places_in(path)
        for task in ("the main function", self.TRACED[name]):
            self.assertRegex(places[task][0], rf"tests/python/{name}\.py:[1-9]")
        for task, lines in places.items():
            for line in lines:
                self.assertRegex(line, r"\.py:[1-9]\d*$", task)

    def test_a_c_thread_calls_back(self):
        library = self.c_library("python/c_thread.c")
        self.tells("good", self.run_python("callbacks", library))

    def test_c_functions_run_at_once(self):
        self.tells("good", self.run_python("meeting", self.c_library("python/meeting.c")))

    def test_tasks_leave_nothing_behind(self):
        self.tells("good", self.run_python("leaks", "1000000", "--workers", 2))


class Simulated(Programs):

    @suite.cases(list(PROGRAMS))
    def test(self, name):
        """What it prints; test_explored has more seeds."""
        result = self.run_python(name, "--sim", "--ranks", 3, "--workers", 2, PYTHONHASHSEED="0")
        self.assertEqual(result.output.strip(), PROGRAMS[name].format(ranks=3))

    def hash_of(self, program, seed):
        result = self.run_python(program, "--sim", "--sim-seed", seed, "--sim-order", "uniform",
                                 "--ranks", 3, "--workers", 2, PYTHONHASHSEED="0")
        return re.search("trace hash ([0-9a-f]+)", result.output + result.errors).group(1)

    def test_a_seed_repeats(self):
        hashes = set()
        for seed in range(1, 6):
            first = self.hash_of("calls", seed)
            self.assertEqual(first, self.hash_of("calls", seed))
            hashes.add(first)
        self.assertGreater(len(hashes), 1)

    def test_seeds_repeat(self):
        self.seeds_repeat()

    def test_explored(self):
        explore = suite.build().source / "tools/shoal-explore"
        for name in PROGRAMS:
            program = suite.build().source / "tests/python" / f"{name}.py"
            result = self.run_command(
                [self.python, explore, "--seeds", 12, "--", self.python, program, "--ranks", 3,
                 "--workers", 2], environment=self.environment | {"PYTHONHASHSEED": "0"})
            self.assertIn("12 seeds, no failure", result.output)

    def test_sets_may_differ_without_a_hash_seed(self):
        result = self.run_python("tasks", "--sim")
        self.assertRegex(result.errors, "RuntimeWarning: a simulation repeats only in part")
        result = self.run_module("run", "-n", 2, "--sim", "--seed", 7,
                                 suite.build().source / "tests/python/tasks.py")
        self.assertNotIn("RuntimeWarning", result.errors)
        self.assertIn("with seed 7", result.output + result.errors)

    def test_options_of_a_simulation(self):
        """Those of all sources count, as the library reads them."""
        config = self.folder() / "shoal.conf"
        config.write_text("sim = on\nsim-seed = 7\n")
        program = self.folder() / "numbers.py"
        program.write_text("import random, shoal\n"
                           "shoal.run(lambda world: print(world.launch, random.random()))\n")

        def prints(*words, **variables):
            return self.run_command([self.python, program, *words],
                                    environment=self.environment | variables)

        seeded = prints("--sim", "--sim-seed", 7, PYTHONHASHSEED="0").output
        self.assertIn("simulated", seeded)
        for words, variables in ((("--config", config), {}), ((), {"SHOAL_CONFIG": str(config)})):
            self.assertEqual(prints(*words, PYTHONHASHSEED="0", **variables).output, seeded)
        for words, variables in ((("--sim=off", ), {}), ((), {"SHOAL_SIM": "off"})):
            result = prints(*words, **variables)
            self.assertIn("embedded", result.output)
            self.assertEqual(result.errors, "")
        # Words that are the program's own do not hide the variable.
        program.write_text("import shoal\n"
                           "shoal.run(lambda world: print(world.launch), args=[])\n")
        result = self.run_module("run", "-n", 2, program, "--rank", 3, SHOAL_SIM="on")
        self.assertEqual(set(result.output.split()), {"simulated"})

    def test_many_tasks_wait_at_once(self):
        self.tells("10000 tasks", self.run_python("parked", "10000", "--sim", "--workers", 2,
                                                  PYTHONHASHSEED="0"))


class Launched(Programs):

    @suite.cases(list(PROGRAMS))
    def test(self, name):
        expected = PROGRAMS[name]
        self.first_mpi()
        for mpi in suite.build().mpis:
            with self.subTest(mpi=mpi):
                launcher = [*suite.build().launchers[mpi], 3]
                result = self.run_python(name, "--workers", 2, launcher=launcher)
                self.assertEqual(result.output.strip(), expected.format(ranks=3))

    def test_the_module_finds_a_launcher(self):
        self.first_mpi()
        result = self.run_module("run", "-n", 2, "--workers", 1,
                                 suite.build().source / "tests/python/calls.py")
        self.assertEqual(result.output.strip(), "good 2")

    def test_the_module_without_a_launcher(self):
        """It says so, unless that is what was asked for."""
        self.python = self.run_command(  # it may be a script that needs PATH
            [self.python, "-c", "import sys; print(sys.executable)"]).output.strip()
        program = suite.build().source / "tests/python/calls.py"
        for options, says in (((), True), (("--embedded", ), False), (("--sim", ), False)):
            result = self.run_module("run", "-n", 2, *options, program, PATH="/nonexistent")
            self.assertEqual(result.output.strip(), "good 2")
            self.assertEqual("no launcher of MPI: all ranks run in this process" in result.errors,
                             says, result.errors)


class Examples(Programs):
    """Those of the guide, in all modes."""

    PRINTS = {"squares": "total 285", "word_count": "the 4, dog 2, fox 2",
              "sweep": "total 70, failed [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]",
              "bfs": "reached 500, total distance 1658, farthest 5",
              "collatz": "178 steps from 871"}

    @suite.cases(list(PRINTS))
    def test(self, name):
        self.prints_everywhere(name, self.PRINTS[name])


class Extensions(Programs):
    """A module in C++ that is linked with the library of the package."""

    def build_extension(self, *link):
        """The folder of the module of tests/python/extension.cpp."""
        folder, build = self.folder(), suite.build()
        include = self.run_command([self.python, "-c", "import sysconfig; "
                                    "print(sysconfig.get_path('include'))"]).output.strip()
        self.run_command([build.variables["CMAKE_CXX_COMPILER"], "-std=c++20", "-shared", "-fPIC",
                          "-DSHOAL_SHARED", "-Werror", "-isystem", include,
                          f"-I{self.package / 'shoal/include'}",
                          build.source / "tests/python/extension.cpp", "-o",
                          folder / "extension.so", *link])
        self.environment["PYTHONPATH"] += f":{folder}"

    def core(self):
        (core, ) = self.package.glob("shoal/_core.*.so")
        return core

    def test_sends_messages_of_cpp(self):
        self.build_extension(self.core())
        for options in ((), ("--sim",)):
            result = self.run_python("extends", *options, "--ranks", 2, PYTHONHASHSEED="0")
            self.assertEqual(result.output, "6\nended\n")
        for mpi in suite.build().mpis:
            result = self.run_python("extends", launcher=[*suite.build().launchers[mpi], 2])
            self.assertEqual(result.output, "3\nended\n")

    def test_processes_with_and_without_it(self):
        """Their tables of handlers differ: they are refused, as different programs are."""
        self.first_mpi()
        self.build_extension(self.core())
        for mpi in suite.build().mpis:
            result = self.run_python("extends", "some", launcher=[*suite.build().launchers[mpi], 2],
                                     code=suite.FAILURE)
            self.assertIn("the table of active messages", result.errors)

    def test_a_second_copy_is_refused(self):
        library = suite.build().folder / "src/libshoal.a"
        self.build_extension(library, "-USHOAL_SHARED", "-lfmt", "-lhwloc", "-lxxhash",
                             "-lboost_context", "-pthread")
        said = self.run_python("extends", "copy", "--ranks", 2).output
        self.assertRegex(said, rf"refused: two copies of shoal .*{re.escape(self.core().name)}"
                               r".*/extension\.so.*python -m shoal cmake")


    def test_another_version_is_refused(self):
        header = self.folder() / "version.hpp"
        header.write_text('#include <shoal/version.hpp>\n#undef SHOAL_VERSION\n'
                          '#define SHOAL_VERSION "0.0.1"\n')
        self.build_extension(self.core(), "-include", header)
        said = self.run_python("extends", "copy", "--ranks", 2).output
        self.assertRegex(said, "refused: this extension module was compiled for shoal 0.0.1, and "
                               "the package here is .*: build the module again")


class Failures(Programs):

    def fails(self, case, pattern, *arguments, code=1, output="^$", **options):
        result = self.run_python("failing", case, *arguments, code=code, **options)
        self.assertRegex(result.errors, pattern)
        self.assertNotIn("not refused", result.output)
        self.assertRegex(result.output, output)

    def line(self, comment):
        """Place of the line of failing.py with a comment, for a pattern."""
        lines = (suite.build().source / "tests/python/failing.py").read_text().splitlines()
        number, = (number for number, line in enumerate(lines, 1) if line.endswith(f"# {comment}"))
        return rf"tests/python/failing\.py:{number}"

    MODES = {"embedded": ("--ranks", 2), "simulated": ("--ranks", 2, "--sim")}

    @suite.cases(MODES)
    def test(self, mode):
        bananas = r"LookupError: no more bananas"
        self.fails("raises", rf'File ".*failing.py", line \d+, in raises[^$]*{bananas}', *mode)
        self.fails("task_raises", rf"in breakfast[^$]*{bananas}", *mode,
                   output="known on 0\n[^$]*known on 1|known on 1\n[^$]*known on 0")
        for case in ("dropped", "call_dropped", "answer_dropped"):
            self.fails(case, rf"in breakfast[^$]*{bananas}", *mode)
        self.fails("dropped", r"TaskError: [^$]*call result\(\) or add_done_callback\(\)", *mode)
        for case in ("stuck", "stuck_event"):
            self.fails(case, "asks.*waits[^$]*the answer|the answer[^$]*asks", *mode)
        for text in (rf"asks' waits in get\(\) of 'the answer' \({self.line('asks')} in gets\)\n",
                     rf"locks' waits in lock\(\) of mutex 'the key' \({self.line('locks')} in "
                     rf"stuck_lines.<locals>.locks\), which '[^']*asks' holds",
                     rf"'[^']*awaits' waits in [^\n]* \({self.line('awaits')} in answer_of\)\n"):
            self.fails("stuck_lines", text, *mode)
        self.fails("stuck_main", rf"in barrier\(\) [^\n]*\({self.line('main')} in stuck_main\)",
                   *mode)
        self.fails("handler_waits", r"CheckError: sleep\(.*handler.*Send it by send_task\(\), or "
                   r"go on in add_done_callback\(\)", *mode)
        self.fails("cancels", "cancel.*enough", *mode)
        self.run_python("failing", "exits", *mode, code=3)

    def test_stalled(self):
        result = self.run_python("failing", "slow", "--ranks", 2, "--workers", 2,
                                 "--stall-report", "300ms")
        for text in (rf"runs the task 'computes' \({self.line('computes')} in computes\) for",
                     rf"get\(\) of 'late' \({self.line('slow')} in slow\)",
                     rf"main function: in barrier\(\) [^\n]*\({self.line('meets')} in slow\)"):
            self.assertRegex(result.errors, text)

    WAITS = {"embedded": ("shoal.sleep(60)", ()),
             "simulated": ("any(world.submit(len, '').result() for _ in iter(int, 1))", ("--sim",))}

    @suite.cases(list(WAITS))
    def test_interrupted(self, mode):
        waits, options = self.WAITS[mode]
        program = ("import shoal; shoal.run(lambda world: world.rank or print('waits', flush=True) "
                   f"or {waits}, ranks=2)")
        path = self.folder() / "waits.py"
        path.write_text(program)
        process = subprocess.Popen(
            [self.python, path, *options], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=os.environ | self.environment | {"PYTHONHASHSEED": "0"},
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "waits\n")
        self.interrupt(process)
        self.assertEqual(process.returncode, -signal.SIGINT)

    def test_interrupted_interpreter(self):
        """An interactive interpreter cancels the run, and goes on."""
        program = ("import shoal, threading\n"
                   "def main(world):\n"
                   "    world.rank or print('waits', flush=True)\n"
                   "    shoal.sleep(3600)\n"
                   "try:\n"
                   "    shoal.run(main, ranks=2)\n"
                   "except KeyboardInterrupt:\n"
                   "    print('goes on', shoal.run(lambda world: world.size, ranks=2),\n"
                   "          threading.active_count())\n")
        process = subprocess.Popen(
            [self.python, "-c", program], env=os.environ | self.environment, text=True,
            stdout=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "waits\n")
        self.assertEqual(self.interrupt(process)[0], "goes on 2 1\n")
        self.assertEqual(process.returncode, 0)

    def test_launched(self):
        launcher = [*suite.build().launchers[self.first_mpi()], 2]
        self.fails("raises", "LookupError: no more bananas", launcher=launcher,
                   code=suite.FAILURE)
        self.fails("task_raises", "LookupError: no more bananas", launcher=launcher,
                   code=suite.FAILURE, output="known on")
        for case in ("call_dropped", "answer_dropped"):
            self.fails(case, "LookupError: no more bananas", launcher=launcher, code=suite.FAILURE)


class Mistakes(Programs):
    """Wrong programs end, and say what to do."""

    SAYS = {
        "forks": "os.fork.. while a run of shoal is in progress.*spawn",
        "pools": "os.fork.. while a run of shoal is in progress.*spawn",
        "closure": "argument of a call of .*<lambda> cannot be sent.*top of a module",
        "each_other": "(first|second)[^$]*(first|second)",
        "lonely_barrier": r"rank 0: the main function waits in barrier[^\n]*mistakes.py:\d+ in l",
        "other_order": "in the same order",
        "other_classes": "(Bank.deposit.. met an object of Vault|Vault.deposit.. met an object of "
                         "Bank) on rank [01]: .* same order",
        "other_classes_send": "Bank.deposit.. met an object of Vault on rank 1: .* same order",
        "shared_graph": "task graph 'chain' belongs to rank 1, and was used on rank 0: use that "
                        "of the rank where the function runs",
        "other_operations": "2 elements of double by (SUM on rank 0|MAX on rank 1), and "
                            "allreduce.. of 2 elements of double by (SUM on rank 0|MAX on rank 1)",
        "other_functions": "a Python object by (max on rank 0|min on rank 1), and allreduce.. of "
                           "a Python object by (max on rank 0|min on rank 1)",
        "other_lambdas": "by other_lambdas.<locals>.<lambda>, code [0-9a-f]{8} on rank ., and "
                         "allreduce.. of a Python object by other_lambdas.<locals>.<lambda>, code",
        "other_roots": "reduce.. of a Python object by SUM with root (0 on rank 0|1 on rank 1), "
                       "and reduce.. of a Python object by SUM with root (0 on rank 0|1 on rank 1)",
        "other_parts": "alltoall.. of 4 elements of (d on rank 0|q on rank 1), and alltoall.. of 4 "
                       "elements of (d on rank 0|q on rank 1)",
        "other_mapping": "'sums': task 1 has come to rank (1, where rank= says 0|0, where rank= "
                         "says 1): give the same function",
        "unfulfilled": "sums['total'].*2 of 3|sums.*total.*2 of 3",
        "two_inputs": "two values were sent to input 'left' of task 1",
        "forgotten_error": "TypeError: unsupported operand",
        "generator": "main function is a generator.*yield",
        "no_parameter": "TypeError: no_parameter.. takes 0 positional arguments",
        "recursion": "RecursionError",
        "nested": "argument of a call of double cannot be sent.*RecursionError",
        "other_programs": r"TaskError: rank .* flow 'sums'.*rank 1; [^\n]*types and sizes\n",
        "writes_what_it_reads": "cheat.*has changed 'numbers', which it only reads",
        "waits_in_attempt": "in attempt 1 of 3 of 'patient.*on rank.*cannot be withheld",
        "locks_in_attempt": "lock.. of mutex 'rows', in attempt 1 of 3 of 'locker",
        "event_fails_each_time": "hopeless failed: failed 3 times, the last:.*IndexError",
        "fails_each_time": "failed 3 times, the last:.*OSError: not today",
        "writes_nothing": "lazy has not written 'x'.*return its value",
        "writes_no_number": "count has not written 'x': what was there, 5, .*return its value",
        "other_elements": "'sums of (int|float)': [^,]* on rank [01], and memory 'sums of "
                          "(int|float)'",
        "other_sizes": "of [0-9]+ bytes at 0x[0-9a-f]+ on rank [01], and of [0-9]+ bytes at "
                       "0x[0-9a-f]+ on rank [01]: all ranks must make",
        "self_call": "inner.. of actor 'selfish'",
        "no_actor": "actor 'nobody'",
        "timer_raises": "TaskError.*TypeError: unsupported operand",
        "late": "too slow",
    }

    @suite.cases({name: name for name in SAYS})
    def test(self, name):
        self.is_told(name, self.SAYS[name])

    def test_words_of_cpp(self):
        """An error names nothing that only programs in C++ can call."""
        result = self.run_python("mistakes", "fulfilled_again", "--check-graphs", code=1)
        self.assertEqual(result.errors.count("or the indegree is too small\n"), 2, result.errors)
        self.assertNotIn("set_repeating", result.errors)

    def test_an_array_that_travels_keeps_its_size(self):
        result = self.run_python("mistakes", "resizes", "--ranks", 2, "--sim", PYTHONHASHSEED="0")
        self.assertIn("refused: cannot resize an array that is exporting buffers", result.output)
        self.assertIn("ended\n", result.output)

    def test_exit_in_a_task(self):
        """As in a main function that asks for the result."""
        self.run_python("mistakes", "exits_in_task", code=3)

    def test_use_after_the_run(self):
        result = self.run_python("mistakes", "outlives")
        self.assertNotIn("not refused", result.output)
        self.assertEqual(result.output.count("refused:"), 13)
        self.assertIn("2 2\n", result.output)

    def test_two_runs(self):
        """Each has its own ranks."""
        result = self.run_python("mistakes", "two_runs")
        self.assertEqual(result.output, "1\nended\n")

    def test_a_crash_names_the_frame(self):
        result = self.run_python("mistakes", "crashes", code=suite.ANY)
        self.assertLess(result.code, 0)
        self.assertRegex(result.errors, 'line [0-9]+ in reads_address_zero')

    def test_standard_error_is_no_file(self):
        for stream in ("io.StringIO()", "None"):
            program = (f"import io, shoal, sys; sys.stderr = {stream}; "
                       "print(shoal.run(lambda world: world.size, ranks=2))")
            result = self.run_command([self.python, "-c", program], environment=self.environment)
            self.assertEqual(result.output, "2\n")


class Threads(Programs):
    """Threads of the program, beside the end of a run and of the interpreter."""

    CALLS = ("waits", "fires", "fires_objects", "locks", "submits", "spawns", "calls", "reads",
             "yields")
    CASES = {f"{how}_{call}": (how, call)
             for how, call in itertools.product(("ends", "fails", "exits"), CALLS)}

    @suite.cases(CASES)
    def test(self, case):
        how, call = case
        for _ in range(3 if how == "exits" else 1):
            self.assertEqual(self.run_python("threads", how, call).output, "good\n")

    def test_a_wait_without_end_is_found(self):
        program = ("import shoal, threading\n"
                   "def main(world):\n"
                   "    events = shoal.Events('jobs')\n"
                   "    wait = lambda: events.wait([(shoal.SELF, 'nothing')])\n"
                   "    threading.Thread(target=wait, daemon=True).start()\n"
                   "    while True:\n"
                   "        world.wait()\n"
                   "        shoal.sleep(1e-3)\n"
                   "shoal.run(main)\n")
        result = self.run_command([self.python, "-c", program], code=1,
                                  environment=self.environment)
        self.assertRegex(result.errors,
                         "StuckError[^$]*wait.. in 'a thread of the program'.*nothing")

    FULFILLED = {"outlasts": "got [01]\ngot [01]\n", "fails": "good\n", "runtime": "good\n"}

    @suite.cases(list(FULFILLED))
    def test_foreign(self, case):
        """Futures that threads fulfil when the main function has returned, or after the run."""
        self.assertRegex(self.run_python("foreign", case).output, f"^{self.FULFILLED[case]}$")

    def test_a_thread_that_never_answers_is_named(self):
        result = self.run_python("foreign", "never", "--stall-report", "100ms", "--stall-abort",
                                 "300ms", code=suite.FAILURE)
        self.assertRegex(result.errors, r"main function: in get\(\) of 'the answer of the "
                         r"instrument' \(tests/python/foreign.py:[0-9]+ in never\)")
        self.assertRegex(result.errors, "parked: 'the answer of the instrument' in get.. of "
                         "'set_result.. or set_exception.. by a thread of the program'")
        self.assertNotIn("StuckError", result.errors)


class Processes(Programs):
    """shoal.run(processes=): this process starts others, over the MPI that is there."""

    def setUp(self):
        super().setUp()
        self.first_mpi()

    def test_result(self):
        self.assertEqual(self.run_python("processes", "twice").output.strip(), "good")
        self.assertEqual(self.run_python("processes", "simulated").output.strip(), "good")

    def test_traced(self):
        trace = self.folder() / "run.trace"
        self.run_python("processes", "whole", SHOAL_TRACE=str(trace))
        place = self.places_in(trace)["the main function"][0]
        self.assertRegex(place, r"tests/python/processes\.py:[1-9]")

    def test_exception(self):
        said = self.run_python("processes", "raises").output
        self.assertRegex(said, "odd: rank 1 of 2 [|] on rank 1:[^$]*in raises")

    def test_module(self):
        """A program that was started by -m is imported as a module: its relative imports work."""
        folder = self.folder()
        package = folder / "package"
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "parts.py").write_text("def part(rank):\n    return 10 + rank\n")
        text = ("import shoal\n"
                "from .parts import part\n"
                "def main(world):\n"
                "    return world.allgather(part(world.rank))\n"
                "if __name__ == '__main__':\n"
                "    print(shoal.run(main, processes=2))\n")
        for name, program in (("program", "package.program"), ("__main__", "package")):
            (package / f"{name}.py").write_text(text)
            with self.subTest(program=program):
                result = self.run_command([self.python, "-m", program], folder=folder,
                                          environment=self.environment)
                self.assertEqual(result.output.strip(), "[10, 11]")

    def test_refusals(self):
        self.tells("result of .* cannot be sent",
                   self.run_python("processes", "unsendable", code=1))
        self.tells("behind .if __name__", self.run_python("processes", "unguarded", code=1))

    def test_without_a_launcher(self):
        """Launchers are looked for beside Python, too: so it is in a folder of its own."""
        program = self.run_command(  # it may be a script that needs PATH
            [self.python, "-c", "import sys; print(sys.executable)"]).output.strip()
        self.python = self.folder() / "python3"
        self.python.symlink_to(program)
        result = self.run_python("processes", "whole", code=1, PATH="/nonexistent")
        self.tells("no launcher of MPI", result)

    @suite.cases(["waits", "spins"])
    def test_interrupted(self, case):
        """All processes end; left alone, they would wait for much longer than this test."""
        process = subprocess.Popen(
            [self.python, suite.build().source / "tests/python/processes.py", case],
            env=os.environ | self.environment | suite.build().mpi_environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        ranks = [int(process.stdout.readline().removeprefix("waits ")) for _ in range(2)]
        self.addCleanup(self.end, ranks)
        # The streams end when the last process of the launch has ended.
        _, errors = self.interrupt(process)
        self.assertIn("KeyboardInterrupt", errors)
        self.assertEqual(process.returncode, -signal.SIGINT)

    @suite.cases(["waits", "spins"])
    def test_interrupted_launch(self, case):
        """Ctrl-C in the terminal of mpirun."""
        self.first_mpi()
        program = suite.build().source / "tests/python/processes.py"
        for mpi in suite.build().mpis:
            with self.subTest(mpi=mpi):
                process = subprocess.Popen(
                    [*map(str, suite.build().launchers[mpi]), "2", self.python, program, case],
                    env=os.environ | self.environment | suite.build().mpi_environment, text=True,
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
                self.addCleanup(process.stdout.close)
                self.addCleanup(process.kill)
                ranks = [int(process.stdout.readline().removeprefix("waits ")) for _ in range(2)]
                self.addCleanup(self.end, ranks)
                os.killpg(process.pid, signal.SIGINT)  # as a terminal does
                process.communicate(timeout=self.timeout)  # to the end of the last process
                self.assertIsNotNone(process.poll())  # that of MPICH is 0 at times

    def end(self, processes):
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


class Packages(Programs):
    """With numpy and other packages of PyPI, in a virtual environment of the build."""

    PIP = ("--disable-pip-version-check", "--timeout", 10, "install")

    PRINTS = {"heat": "total 19900.000, hottest 100.000", "cholesky": "correct",
              "kmeans": "(0, 0) (10, 0) (0, 10) (10, 10)",
              "bfs": Examples.PRINTS["bfs"]}

    def setUp(self):
        super().setUp()
        venv = suite.build().folder / "tests" / "python_packages"
        stamp = venv / "packages"
        if not stamp.exists() or stamp.read_text() != str(PACKAGES):
            self.run_command([self.python, "-m", "venv", "--clear", venv], timeout=600)
            made = self.run_command([venv / "bin/pip", *self.PIP, *PACKAGES], code=suite.ANY,
                                    timeout=600)
            if made.code != 0:
                self.skipTest("numpy, scipy, dask, joblib and others cannot be fetched from PyPI")
            stamp.write_text(str(PACKAGES))
        self.python = venv / "bin/python"

    @suite.cases(list(PRINTS))
    def test_example(self, name):
        self.prints_everywhere(name, self.PRINTS[name])

    @suite.cases(["flows", "numpy_arrays"])
    def test(self, name):
        for options in (("--ranks", 1), ("--ranks", 3, "--workers", 2)):
            self.assertEqual(self.run_python(name, *options).output.strip(), "good")
        for seed in range(1, 4):
            result = self.run_python(name, "--sim", "--sim-seed", seed, "--ranks", 3,
                                     PYTHONHASHSEED="0")
            self.assertEqual(result.output.strip(), "good")
        for mpi in suite.build().mpis:
            result = self.run_python(name, launcher=[*suite.build().launchers[mpi], 3])
            self.assertEqual(result.output.strip(), "good")

    MISTAKES = {
        "other_shapes": "6 elements of double of shape .(2, 3. by SUM on rank 0|3, 2. by SUM on "
                        "rank 1), and allreduce",
        "other_arrays": "flow 'sums'.*is array float64.3,. of 'numbers' on rank 0, and array "
                        "float64.4,. of 'numbers' on rank 1",
        "other_types": "flow 'sums'.*is array float64.3,. of 'numbers' on rank 0, and array "
                       "int64.3,. of 'numbers' on rank 1",
    }

    @suite.cases(list(MISTAKES))
    def test_mistake(self, name):
        self.is_told(name, self.MISTAKES[name])

    def test_in_situ(self):
        """The example with an extension module in C++, which is built as its CMakeLists.txt says,
        with the nanobind of this build."""
        folder = suite.build().scratch("python_in_situ")
        cache = (suite.build().folder / "CMakeCache.txt").read_text()
        nanobind = re.search("^nanobind_DIR:[A-Z]+=(.*)/nanobind/cmake$", cache, re.M).group(1)
        path = f"{self.package}:{nanobind}"
        cmake, variables = suite.build().variables["CMAKE_COMMAND"], suite.build().variables
        self.run_command([cmake, "-S", suite.SOURCE / "python/examples/in_situ", "-B", folder,
                          "-G", "Ninja", f"-DPython_EXECUTABLE={self.python}",
                          "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
                          f"-DCMAKE_CXX_COMPILER={variables['CMAKE_CXX_COMPILER']}",
                          f"-DCMAKE_CXX_COMPILER_LAUNCHER={variables['SHOAL_TEST_CCACHE']}"],
                         environment=self.environment | {"PYTHONPATH": path})
        self.run_command([cmake, "--build", folder, "--parallel", 2], timeout=300)
        self.prints_everywhere("in_situ/analysis", "total 7.494, steepest 0.280",
                               PYTHONPATH=f"{self.package}:{folder}")

    def test_seeds_repeat(self):
        """Also those of numpy."""
        self.seeds_repeat()

    def mpi_of_mpi4py(self, mpi):
        """Environment in which mpi4py of PyPI loads an MPI of the system: it looks for that of
        MPICH under another name than Debian's."""
        if mpi == "openmpi":
            return {"MPI4PY_LIBMPI": "libmpi.so.40"}
        if mpi != "mpich":
            self.skipTest(f"mpi4py of PyPI may not know {mpi}")
        found = self.run_command([suite.build().variables["CMAKE_C_COMPILER"],
                                  "-print-file-name=libmpich.so"]).output.strip()
        folder = self.folder()
        (folder / "libmpi.so.12").symlink_to(os.path.realpath(found))
        paths = [str(folder), os.environ.get("LD_LIBRARY_PATH", "")]
        return {"MPI4PY_LIBMPI": str(folder / "libmpi.so.12"),
                "LD_LIBRARY_PATH": ":".join(filter(None, paths))}

    def test_beside_mpi4py(self):
        """One process, one MPI, two libraries."""
        self.first_mpi()
        for mpi in suite.build().mpis:
            with self.subTest(mpi=mpi):
                variables = self.mpi_of_mpi4py(mpi)
                for launcher, options in (
                        ((), ("--workers", 2)), ((), ("--sim", "--ranks", 3)),
                        ([*suite.build().launchers[mpi], 3], ("--workers", 2)),
                        ([*suite.build().launchers[mpi], 2], ("--workers", 1)),
                        ([*suite.build().launchers[mpi], 2], ("serialized",))):
                    result = self.run_python("communicators", *options, launcher=launcher,
                                             PYTHONHASHSEED="0", **variables)
                    self.assertEqual(result.output.strip(), "good")

    def test_program_of_mpi4py(self):
        """That of the guide, which shoal's example replaces."""
        mpi = self.first_mpi()
        result = self.run_python("collatz_mpi4py", launcher=[*suite.build().launchers[mpi], 2],
                                 **self.mpi_of_mpi4py(mpi))
        self.assertEqual(result.output.strip(), Examples.PRINTS["collatz"])

    def test_adapters(self):
        self.assertEqual(self.run_python("adapters").output.strip(), "good")
        for workers in (1, 3):
            said = self.run_python("adapters", "--workers", workers).output
            self.assertEqual(said.strip(), "good")

    def test_simulated_adapters(self):
        """Dask orders its tasks by no address, and by no hash of a text."""
        for seed in range(1, 4):
            hashes = set()
            for _ in range(2):
                result = self.run_python("adapters", "--sim", "--sim-seed", seed, "--workers", 2,
                                         PYTHONHASHSEED="0")
                self.assertEqual(result.output.strip(), "good")
                hashes.add(re.search("trace hash ([0-9a-f]+)", result.errors).group(1))
            self.assertEqual(len(hashes), 1)

    def test_kernels_of_numba_run_at_once(self):
        pip = pathlib.Path(self.python).parent / "pip"
        made = self.run_command([pip, *self.PIP, *PACKAGES[:1], NUMBA], code=suite.ANY, timeout=600)
        if made.code != 0:
            self.skipTest("numba cannot be fetched from PyPI")
        library = self.c_library("python/meeting.c")
        self.tells("good", self.run_python("meeting", library, "numba"))

    def test_closures_in_processes(self):
        self.first_mpi()
        self.assertEqual(self.run_python("processes", "closure").output.strip(), "12")

    def test_processes_of_an_interactive_interpreter(self):
        """As in a notebook, the functions are nowhere but in the interpreter."""
        self.first_mpi()
        program = ("import shoal\n"
                   "offset = 10\n"
                   "def add(x):\n    return x + offset\n"
                   "def main(world):\n"
                   "    print('hello', world.rank, flush=True)\n"
                   "    return [world.call(to, add, to).result() for to in range(world.size)]\n"
                   "print(shoal.run(main, processes=2))\n")
        said = self.run_command([self.python, "-c", program], environment=self.environment).output
        for text in ("hello 0", "hello 1", "[10, 11]"):
            self.assertIn(text, said)

    def test_notebook(self):
        """The tutorial prints what is stored in it."""
        trace = pathlib.Path(self.program("shoal-trace")).parent
        result = self.run_python("notebook", suite.SOURCE / "python/examples/tutorial.ipynb",
                                 PYTHONHASHSEED="0", PATH=f"{trace}:{os.environ['PATH']}")
        self.assertEqual(result.output.strip(), "good")

    def test_processes_of_a_notebook(self):
        self.first_mpi()
        self.assertEqual(self.run_python("notebook", "--processes").output.strip(), "good")

    def test_interrupted_notebook(self):
        self.assertEqual(self.run_python("notebook").output.strip(), "good")

    def test_arbitrary_calls(self):
        seconds = float(os.environ.get("PYTHON_FUZZ_SECONDS", "20"))
        self.timeout += seconds
        result = self.run_python("fuzz", seconds, PYTHONHASHSEED="0")
        self.assertRegex(result.errors, "[1-9][0-9]* examples")


class Module(Programs):

    def test_all_public_names_are_documented(self):
        """Those of nanobind have their signature in the first line."""
        program = ("import inspect, re, shoal\n"
                   "def check(name, value):\n"
                   "    text = re.sub(r'^\\w*[(]self.*', '', inspect.getdoc(value) or '')\n"
                   "    text.strip() or print(name)\n"
                   "for name in shoal.__all__:\n"
                   "    value = getattr(shoal, name)\n"
                   "    check(name, value)\n"
                   "    for kind in value.__mro__ if inspect.isclass(value) else ():\n"
                   "        for member in vars(kind) if 'shoal' in kind.__module__ else ():\n"
                   "            if not member.startswith('_'):\n"
                   "                check(f'{name}.{member}', vars(kind)[member])\n")
        result = self.run_command([self.python, "-c", program], environment=self.environment)
        self.assertEqual(result.output, "")

    def test_all_public_names_are_typed(self):
        """Each is in the stubs, and used in the program that type checkers read."""
        names = set(self.run_command([self.python, "-c", "import shoal; print(*shoal.__all__)"],
                                     environment=self.environment).output.split())
        used = (suite.build().source / "tests/python/typed.py").read_text()
        self.assertEqual(names - set(re.findall(r"\bshoal\.(\w+)", used)), set())
        stubs = (suite.build().source / "python/shoal/__init__.pyi").read_text()
        self.assertEqual(names - set(re.findall(r"^(?:class |def )?(\w+)", stubs, re.M)), set())

    def test_started_by_a_process_with_open_mpi(self):
        """That one was started without a launcher: so is this one, which has its variables."""
        program = "import shoal; print(shoal.run(lambda world: world.size, ranks=3))"
        result = self.run_command(
            [self.python, "-c", program],
            environment=self.environment | {"OMPI_MCA_ess": "singleton", "PMIX_RANK": "0"})
        self.assertEqual(result.output.strip(), "3")

    def test_import_is_light(self):
        result = self.run_command(
            [self.python, "-c", "import shoal, sys; print('numpy' in sys.modules)"],
            environment=self.environment)
        self.assertEqual(result.output.strip(), "False")

    def test_a_gil_is_needed(self):
        """As a free-threaded Python says that it runs without one."""
        result = self.run_command(
            [self.python, "-c", "import sys; sys._is_gil_enabled = lambda: False; import shoal"],
            environment=self.environment, code=1)
        self.assertRegex(result.errors, "ImportError: shoal: .*without its GIL.*PYTHON_GIL=0")
        result = self.run_command(
            [self.python, "-c", "import sys; sys._is_gil_enabled = lambda: True; import shoal"],
            environment=self.environment)
        self.assertEqual(result.errors, "")

    def test_info(self):
        self.tells("1 rank, ", self.run_module("info"))
        self.tells("3 ranks, ", self.run_module("info", "--", "--ranks", 3))
        self.assertEqual(self.run_module("version").output.strip(),
                         suite.build().variables["PROJECT_VERSION"])

    def test_words_that_are_no_text(self):
        """Names of files may be any bytes."""
        program = self.folder() / "words.py"
        program.write_text("import os, shoal\n"
                           "shoal.run(lambda world: print(os.fsencode(world.args[1])))\n")
        result = self.run_command([self.python, program, os.fsdecode(b"\xff\xfe")],
                                  environment=self.environment)
        self.assertEqual(result.output.strip(), r"b'\xff\xfe'")

    def test_wrong_words(self):
        self.tells("at least 1", self.run_module("run", "-n", 0, "program.py", code=1))
        self.tells("error", self.run_python("tasks", "--ranks", "many", code=1))
        self.tells(r"ConfigError: .*\\xff", self.run_python("tasks", "--workers",
                                                            os.fsdecode(b"\xff"), code=1))


if __name__ == "__main__":
    suite.main()
