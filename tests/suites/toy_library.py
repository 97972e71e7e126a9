"""A library of one layer, x, for tests of tools that read sources with the flags of a build."""

import json
import pathlib
import subprocess
import sys
import tempfile

import suite


def check(tool, sources, exceptions="", units=None):
    """Runs tools/<tool> over the files {name: text} of the layer, each .cpp a unit of its own
    unless told; returns (exit code, output)."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        layer = root / "src" / "x"
        layer.mkdir(parents=True)
        (root / "tools").mkdir()
        (root / "tools" / "tidy_exceptions").write_text(exceptions)
        for name, text in sources.items():
            (layer / name).write_text(text)
        commands = []
        for name in units or [name for name in sources if name.endswith(".cpp")]:
            file = str(layer / name)
            command = ("/usr/bin/clang++-16 -std=c++20 -o src/CMakeFiles/shoal_x.dir/"
                       f"{name}.o -c {file}")
            commands.append({"directory": folder, "file": file, "command": command})
        (root / "compile_commands.json").write_text(json.dumps(commands))
        return run(tool, "--root", folder, folder)


def run(tool, *arguments):
    result = subprocess.run([sys.executable, str(suite.SOURCE / "tools" / tool), *arguments],
                            capture_output=True, text=True, check=False)
    return result.returncode, result.stdout + result.stderr
