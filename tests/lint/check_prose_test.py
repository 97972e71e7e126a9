#!/usr/bin/env python3
"""tools/check_prose refuses what it should, and accepts plain sentences."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

GOOD = {
    "src/good.cpp": "// Options of a task.\nint what();  // on one rank\n",
    "src/good_text.cpp": 'f("What is", "what to do, in that order");\n',
    "tests/text.cpp": 'auto name = "nobody to steal from";\n',
    "src/url.cpp": 'auto a = "//x", b = \'"\'; auto c = "nobody";\n',
    "src/good.h": "/* Payload of an event. */\n",
    "docs/table.md": "# Title\n\nShort.\n\n| " + "long " * 30 + "|\n",
    "docs/code.md": "```text\n" + "x" * 120 + "\n```\n",
    "docs/question.md": "# What does it do?\n\nIt says what it does. (Who asks?) `What` is code.\n",
    "src/question.cpp": "// Asks. What next?\n",
}
BAD = {
    "src/what.cpp": ("// What is chosen.\nint x;\n", "opens with 'What'"),
    "src/who.hpp": ("int y;\n  /// Who can have a lock.\nint z;\n", "opens with 'Who'"),
    "src/of.h": ("/* Of one rank. */\n", "opens with 'Of'"),
    "cmake/told.cmake": ("# Told of an error.\n", "opens with 'Told'"),
    "tools/script": ("#!/bin/sh\n# Those that wait.\n", "opens with 'Those'"),
    "src/odd.cpp": ("// A line that goes to and fro.\n", "'to and fro'"),
    "docs/wide.md": ("word " * 30 + "\n", "150 columns"),
    "src/second.cpp": ("// A lock. Nobody\n// waits.\n", "cpp:1: a sentence opens"),
    "docs/heading.md": ("# What it does\n", "opens with 'What'"),
    "docs/sentence.md": ("A task.\n\n- It runs.\n  **Who waits** is parked.\n", "md:4: a sentence"),
    "docs/cell.md": ("| a | Those that wait |\n", "opens with 'Those'"),
    "src/trailing.cpp": ("int x;  // nobody waits\n", "cpp:1: 'nobody'"),
    "src/behind.hpp": ("int x;\nint y;  ///< What is chosen.\n", "hpp:2: a comment opens with"),
    "src/text.cpp": ('f(\n  "no rank: "\n  "nobody waits");\n', "cpp:2: 'nobody' in a text"),
    "src/texts.hpp": ('f("first\\nThat which is chosen");\n', "a text opens with 'That'"),
    "include/text.hpp": ('f("a text which nobody may change");\n', "hpp:1: 'nobody' in a text"),
    "apps/raw.cpp": ('f(R"(Usage:\nWho can have a lock)");\n', "a text opens with 'Who'"),
    "docs/odd.md": ("It is there for whoever comes.\n", "'whoever'"),
}


def run(files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "tools").mkdir()
        shutil.copy(ROOT / "tools/check_prose", root / "tools/check_prose")
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return subprocess.run(
            [sys.executable, "tools/check_prose"], cwd=root, capture_output=True, text=True
        )


def main():
    result = run(GOOD)
    if result.returncode != 0:
        sys.exit(f"plain sentences are refused:\n{result.stderr}")
    for name, (text, expected) in BAD.items():
        result = run({name: text})
        named = f"{name}:" in result.stderr and expected in result.stderr
        if result.returncode == 0 or not named:
            sys.exit(f"{name} is not refused with {expected}:\n{result.stderr}")
    print(f"{len(BAD)} offences found, {len(GOOD)} files accepted")


if __name__ == "__main__":
    main()
