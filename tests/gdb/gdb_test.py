"""tools/gdb/shoal_gdb.py on a program with parked tasks, alive and as a core file.

    gdb_test.py GDB SCRIPT PROGRAM FOLDER
"""

import glob
import os
import re
import resource
import shutil
import subprocess
import sys

GDB, SCRIPT, PROGRAM, FOLDER = sys.argv[1:]
SHAPE = ["--ranks", "2", "--workers", "1"]
SKIP = 77
EXPECTED = [
    r"#\d+ rank 1: 'reader' \(Named<FunctionTask<.*> *>\) waits in 'ledger' \(Mutex\)",
    r"\d+ parked",
    r"in shoal::sched::wait_for",
    r"in .*wait_for_ledger.* at .*parked_tasks\.cpp:\d+",
]


def run_gdb(*arguments):
    return subprocess.run([GDB, "-nx", "-batch", "-iex", "set debuginfod enabled off", *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False).stdout


def commands(*all_of_them):
    return [word for command in all_of_them for word in ("-ex", command)]


def check(output, expected):
    for pattern in expected:
        if not re.search(pattern, output):
            sys.exit("nothing matches %r in:\n%s" % (pattern, output))


def core_file():
    """A core file that the kernel writes: gdb leaves out memory beside the guards of stacks.
    None where core files go elsewhere."""
    with open("/proc/sys/kernel/core_pattern", encoding="ascii") as file:
        if file.read()[0] in "/|":
            return None
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    subprocess.run([PROGRAM, "abort", *SHAPE], cwd=FOLDER, stderr=subprocess.DEVNULL, check=False,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (most, most)))
    return next(iter(glob.glob(os.path.join(FOLDER, "core*"))), None)


def main():
    probe = run_gdb(*commands("run"), "--args", "/bin/true")
    if "exited normally" not in probe:
        print("skipped: gdb cannot run a program here:\n" + probe)
        return SKIP
    alive = run_gdb("-x", SCRIPT,
                    *commands("break debugger_looks_here", "run", "shoal tasks", "shoal stacks",
                              "info threads", "shoal stacks 99", "kill"),
                    "--args", PROGRAM, *SHAPE)
    check(alive, EXPECTED + ["shoal r1 w0", "there is no parked task 99"])
    check(run_gdb("-x", SCRIPT, *commands("shoal tasks"), PROGRAM), ["there is no process"])
    core = core_file()
    if core is None:
        print("not checked on a core file: none is written into the folder of a program here")
        return 0
    check(run_gdb("-x", SCRIPT, *commands("shoal tasks", "shoal stacks"), PROGRAM, core), EXPECTED)
    os.remove(core)
    return 0


sys.exit(main())
