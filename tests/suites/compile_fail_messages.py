"""Every tests/compile_fail/*.cpp must not compile. It begins with `// expect: <regex>` of the
compiler's output; a second line `// lines: <= <number>` limits the lines of that."""

import concurrent.futures
import functools
import os
import pathlib
import re
import subprocess

import suite

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "compile_fail"
SOURCES = sorted(FOLDER.glob("*.cpp"))
POOL = concurrent.futures.ThreadPoolExecutor(2)


@functools.cache
def compiler():
    """The compiler with the headers precompiled: to parse them takes most of the time."""
    build = suite.build()
    headers = build.scratch("compile_fail") / "headers.hpp"
    headers.write_text("#include <shoal/event.hpp>\n#include <shoal/shoal.hpp>\n")
    words = [build.variables["CMAKE_CXX_COMPILER"], "-std=c++20",
             *(f"-I{folder}" for folder in build.includes)]
    cache = [word for word in [build.variables["SHOAL_TEST_CCACHE"]] if word]
    subprocess.run([*cache, *words, "-x", "c++-header", headers, "-o", f"{headers}.gch"],
                   check=True)
    return [*words, "-fsyntax-only", "-include", headers]


@functools.cache
def compilation(source):
    return POOL.submit(fault, source)


def fault(source):
    """Why a source is no good test, or None."""
    expected, limit = re.match(r"// expect: (.+)\n(?:// lines: <= (\d+)\n)?",
                               source.read_text()).groups()
    done = subprocess.run([*compiler(), source], env={**os.environ, "LC_ALL": "C"},  # plain quotes
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode == 0:
        return "it compiles, but must not"
    if not re.search(expected.strip(), done.stdout, re.S):
        return f"it does not compile, but {expected!r} does not match the output:\n{done.stdout}"
    if limit and done.stdout.count("\n") > int(limit):
        return f"the compiler says it in more than {limit} lines:\n{done.stdout}"
    return None


class Messages(suite.Suite):

    @classmethod
    def setUpClass(cls):
        compiler()

    def check(self, index):
        for source in SOURCES[index:index + 2]:  # the next one meanwhile
            compilation(source)
        if said := compilation(SOURCES[index]).result():
            self.fail(f"{SOURCES[index]}: {said}")

    def test_a_source_that_compiles_is_found(self):
        self.assertEqual(fault(FOLDER / "harness" / "compiles.cpp"), "it compiles, but must not")


for number, file in enumerate(SOURCES):
    setattr(Messages, f"test_{file.stem}", lambda self, number=number: self.check(number))

if __name__ == "__main__":
    suite.main()
