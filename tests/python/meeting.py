"""Bodies of two tasks that meet: each waits in C until the other one is there, too.

    meeting.py LIBRARY [numba]        LIBRARY: compiled from meeting.c
"""

import ctypes
import sys

import shoal

PATIENCE_S = 60  # of a test that fails


def met(function, seconds_max=PATIENCE_S):
    """Which of two tasks have met the other one."""
    flags = (ctypes.c_int * 2)()
    return shoal.gather([shoal.current_world().submit(function, flags, mine, seconds_max)
                         for mine in range(2)])


def check_python_beside_c(library):
    """A task in C waits for one in Python."""
    flags = (ctypes.c_int * 2)()
    world = shoal.current_world()
    waits = world.submit(library.meet, flags, 0, PATIENCE_S)
    comes = world.submit(flags.__setitem__, 1, 1)
    assert shoal.gather([waits, comes]) == [1, None]


def check_numba():
    import numba
    import numpy
    pause = ctypes.CDLL(None).sched_yield  # opaque: the flags are read again after it
    pause.argtypes = []

    @numba.njit("boolean(int32[:], int64, int64)", nogil=True)
    def meet(flags, mine, pauses_max):
        flags[mine] = 1
        for _ in range(pauses_max):
            if flags[1 - mine] != 0:
                return True
            pause()
        return False

    def body(flags, mine, seconds_max):
        return meet(numpy.frombuffer(flags, numpy.int32), mine, seconds_max * 1_000_000)

    assert met(body) == [True, True]


def main(world):
    assert met(ctypes.CDLL(sys.argv[1]).meet) == [1, 1]
    # The same function with the GIL: the second one begins when the first has given up.
    assert sorted(met(ctypes.PyDLL(sys.argv[1]).meet, 0)) == [0, 1]
    check_python_beside_c(ctypes.CDLL(sys.argv[1]))
    if "numba" in sys.argv:
        check_numba()
    return True


if __name__ == "__main__":
    assert shoal.run(main, workers=2, args=[])
    print("good")
