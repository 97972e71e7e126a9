"""C extensions find the thread state of a task that has moved: callbacks through ctypes, which
call PyGILState_Ensure(), before and after a wait, on many threads."""

import ctypes
import threading

import shoal

Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
ensure = ctypes.pythonapi.PyGILState_Ensure  # called with the GIL held: it must not wait
release = ctypes.pythonapi.PyGILState_Release
release.argtypes = [ctypes.c_int]
local = threading.local()


@Callback
def through_c(number):
    """Python, C and Python again; the wait is below C."""
    shoal.sleep(1e-6)
    return number + 1


@shoal.task
def checks(number):
    local.number = number
    for _ in range(5):
        release(ensure())
        assert through_c(number) == number + 1
        shoal.yield_now()
        assert local.number == number, "thread-local values are the task's"
    return threading.get_ident()


def recurses(depth):
    return 0 if depth == 0 else recurses(depth - 1) + 1


@shoal.task
def overflows():
    """The recursion limit counts for each task, also after a wait."""
    shoal.sleep(1e-6)
    try:
        recurses(10**6)
    except RecursionError:
        pass
    shoal.sleep(1e-6)
    return recurses(500)


def main(world):
    threads = set(shoal.gather(checks.map(range(200))))
    assert shoal.gather([overflows() for _ in range(8)]) == [500] * 8
    return len(threads)


if __name__ == "__main__":
    count = shoal.run(main)
    if count is not None:
        assert count >= 1
        print("good")
