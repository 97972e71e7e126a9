#!/usr/bin/env python3
"""Runs the blocks of shell commands of README.md, CONTRIBUTING.md and docs/.

  shell_test.py --build BUILD [--mpirun COMMAND] [--list] [PAGE...]

The blocks of a page run one after the other, in one scratch folder per page. Programs of the build
are found there under the names that the pages use: build/release/bin/bfs, and build/hello for the
first program. A comment before a block makes exceptions:

  <!-- not run: REASON -->              the block is not run
  <!-- run except WORD, ...: REASON --> lines that begin with one of the words are not run

Without --mpirun, lines with mpirun are left out.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(
    r"(?:^<!-- (?P<kind>not run|run except (?P<words>[^:\n]+)): (?P<reason>.+?) -->\n)?"
    r"^```sh\n(?P<code>.*?)^```$",
    re.S | re.M,
)
EXCEPTION = re.compile(r"^<!-- (?:not run|run except)\b", re.M)

# Files that a page takes for given: name, and the command that makes it.
DATA = ROOT / "tests/tools/data"
FIXTURES = {
    "docs/applications.md": {"karate.mtx": f"cp {DATA}/pattern.mtx karate.mtx"},
    "docs/flow.md": {"matrix.mtx": f"cp {DATA}/good_array.mtx matrix.mtx"},
    "docs/contention.md": {
        "mycluster.csv": "build/release/bin/contention synthesize "
        f"{ROOT}/apps/contention/machines/henri.json -o mycluster.csv"
    },
}


def pages(names):
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in files if not names or str(path.relative_to(ROOT)) in names]


def lines_of(code):
    """The commands of a block; a line that ends in \\ continues on the next one."""
    return re.split(r"(?<!\\)\n", code.rstrip("\n"))


def script_of(block, mpirun):
    """The lines of a block that are run."""
    if block["kind"] == "not run":
        return []
    words = [word.strip() for word in (block["words"] or "").split(",") if word.strip()]
    if not mpirun:
        words.append("mpirun")
    lines = lines_of(block["code"])
    for word in words:
        if word != "mpirun" and not any(line.startswith(word) for line in lines):
            raise ValueError(f"no line begins with '{word}'")
    return [line for line in lines if not line.startswith(tuple(words))]


def demo_programs():
    """What `make demo` builds."""
    makefile = (ROOT / "Makefile").read_text()
    return re.search("--preset release .*--target (.*)", makefile)[1].split()


def link_programs(build, scratch, page):
    """Makes the programs of the build available under the names of the pages. Readers of README.md
    have those of `make demo`."""
    programs = scratch / "build/release/bin"
    if page == "README.md":
        programs.mkdir(parents=True)
        for program in demo_programs():
            (programs / program).symlink_to(build / "bin" / program)
    else:
        programs.parent.mkdir(parents=True)
        programs.symlink_to(build / "bin")
    (scratch / "build/hello").symlink_to(build / "bin/tutorial_hello")
    for name in ("apps", "tools"):
        (scratch / name).symlink_to(ROOT / name)


def environment(scratch, mpirun):
    folder = scratch / "bin"
    folder.mkdir()
    if mpirun:
        (folder / "mpirun").write_text(f'#!/bin/sh\nexec {mpirun} "$@"\n')
        (folder / "mpirun").chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def run_page(path, arguments):
    """Runs the blocks of a page; returns the numbers of blocks run and left out, and an error."""
    name = str(path.relative_to(ROOT))
    text = path.read_text()
    blocks = list(BLOCK.finditer(text))
    if len(EXCEPTION.findall(text)) != sum(block["kind"] is not None for block in blocks):
        return 0, 0, f"{name}: an exception needs a reason and a block of sh behind it"
    run = 0
    with tempfile.TemporaryDirectory(prefix="shoal-docs-") as folder:
        scratch = pathlib.Path(folder)
        variables = None
        for block in blocks:
            where = f"{name}:{text.count(chr(10), 0, block.start('code'))}"
            try:
                lines = script_of(block, arguments.mpirun)
            except ValueError as error:
                return run, 0, f"{where}: {error}"
            if arguments.list:
                print(where, block["kind"] or "run", block["reason"] or "")
            if not lines or arguments.list:
                continue
            if variables is None:
                link_programs(arguments.build, scratch, name)
                variables = environment(scratch, arguments.mpirun)
                lines = [*FIXTURES.get(name, {}).values(), *lines]
            script = "set -eux -o pipefail\n" + "\n".join(lines) + "\n"
            result = subprocess.run(["bash", "-c", script], cwd=scratch, env=variables, text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            if result.returncode != 0:
                return run, 0, f"{where}: exit code {result.returncode}:\n{result.stdout[-3000:]}"
            run += 1
    return run, len(blocks) - run, None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--mpirun", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("pages", nargs="*")
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    errors = []
    run = left_out = 0
    for path in pages(arguments.pages):
        page_run, page_left_out, error = run_page(path, arguments)
        run += page_run
        left_out += page_left_out
        if error:
            errors.append(error)
    for error in errors:
        print(error, file=sys.stderr)
    print(f"{run} blocks run, {left_out} not run, {len(errors)} errors")
    return 1 if errors or (run == 0 and not arguments.list) else 0


if __name__ == "__main__":
    sys.exit(main())
