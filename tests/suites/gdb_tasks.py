"""tools/gdb/shoal_gdb.py on a program with parked tasks, alive and as a core file."""

import pathlib
import resource
import shutil

import suite

SCRIPT = suite.SOURCE / "tools/gdb/shoal_gdb.py"
SHAPE = ["--ranks", 2, "--workers", 1]
EXPECTED = [
    r"#\d+ rank 1: 'reader' \(Named<FunctionTask<.*> *>\) waits in 'ledger' \(Mutex\)",
    r"\d+ parked",
    r"in shoal::sched::wait_for",
    r"in .*wait_for_ledger.* at .*parked_tasks\.cpp:\d+",
]


class Tasks(suite.Suite):

    def gdb(self, *arguments):
        """Output of gdb, if it can run a program here."""
        if not shutil.which("gdb"):
            self.skipTest("gdb is not installed (tools/setup check-all installs it)")
        command = ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off"]
        probe = self.run_command([*command, "-ex", "run", "--args", "/bin/true"], code=None)
        if "exited normally" not in probe.output:
            self.skipTest(f"gdb cannot run a program here: {probe}")
        result = self.run_command([*command, "-x", SCRIPT, *arguments], code=None)
        return result.output + result.errors

    def check(self, output, expected):
        for pattern in expected:
            self.assertRegex(output, pattern)

    def test_alive(self):
        output = self.gdb(*commands("break debugger_looks_here", "run", "shoal tasks",
                                    "shoal stacks", "info threads",
                                    "shoal stacks 99", "kill"), "--args",
                          self.program("gdb_parked_tasks"), *SHAPE)
        self.check(output, [*EXPECTED, "shoal r1 w0", "there is no parked task 99"])

    def test_no_debug_information_of_the_program(self):
        """As with a release build of shoal: classes are known, and names of tasks are not."""
        output = self.gdb(*commands("break debugger_looks_here", "run", "shoal tasks",
                                    "shoal stacks", "info threads", "kill"), "--args",
                          self.program("gdb_parked_tasks_plain"), *SHAPE)
        self.check(output, [EXPECTED[0].replace("'reader' ", ""), EXPECTED[1], EXPECTED[2],
                            "in .*wait_for_ledger", "shoal r1 w0"])

    def test_stripped(self):
        stripped = self.folder() / "stripped"
        self.run_command(["objcopy", "--strip-debug", self.program("gdb_parked_tasks_plain"),
                          stripped])
        output = self.gdb(*commands("break debugger_looks_here", "run", "shoal tasks", "kill"),
                          "--args", stripped, *SHAPE)
        self.check(output, ["debug information is missing here: it was stripped"])

    def test_no_process(self):
        self.check(self.gdb(*commands("shoal tasks"), self.program("gdb_parked_tasks")),
                   ["there is no process"])

    def test_core_file(self):
        """Of the kernel: gdb leaves out memory beside the guards of stacks."""
        if pathlib.Path("/proc/sys/kernel/core_pattern").read_text()[0] in "/|":
            self.skipTest("core files go elsewhere")
        folder, program = self.folder(), self.program("gdb_parked_tasks")
        _, most = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (most, most))
        self.run_command([program, "abort", *SHAPE], code=suite.ANY, folder=folder)
        cores = list(folder.glob("core*"))
        if not cores:
            self.skipTest("no core file is written here")
        self.check(self.gdb(*commands("shoal tasks", "shoal stacks"), program, cores[0]), EXPECTED)


def commands(*all_of_them):
    return [word for command in all_of_them for word in ("-ex", command)]


if __name__ == "__main__":
    suite.main()
