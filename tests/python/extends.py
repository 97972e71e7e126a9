"""Messages of an extension module in C++, beside edat: prints the sum of what has arrived in the
process of rank 0. With a word: what is refused, or that only some processes import the module."""

import os
import sys

import edat
import shoal

case = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else ""
if case != "some" or os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK")) == "0":
    import extension


def copies():
    """Files in this process with the library."""
    edat._load(None)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        files = {line.split()[-1] for line in maps if "/" in line}
    return {file for file in files if os.path.basename(file).startswith(("_core.", "libshoal"))
            and "_mpi" not in file}  # plug-ins, and what lets the processes of MPICH yield


def main(world):
    if case == "copy":
        try:
            extension.send_to_all(world)
        except shoal.ConfigError as error:
            return f"refused: {error}"
        return "not refused"
    assert len(copies()) == 1, copies()
    for wrong in (None, 1, shoal):
        try:
            extension.send_to_all(wrong)
        except shoal.CheckError as error:
            assert "no World" in str(error), error
        else:
            return "not refused"
    extension.send_to_all(world)
    world.wait()
    return extension.sum()


result = shoal.run(main)
if result is not None:
    print(result)
if case == "":
    worlds = []
    shoal.run(worlds.append)
    try:
        extension.send_to_all(worlds[0])
    except shoal.CheckError as error:
        if result is not None:
            print("ended" if "has ended" in str(error) else error)
