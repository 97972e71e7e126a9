"""Callbacks of a C library's thread, whose thread state in Python is another one each time.

    callbacks.py LIBRARY        compiled from c_thread.c
"""

import ctypes
import sys

import shoal

CALLS = 20
Callback = ctypes.CFUNCTYPE(None, ctypes.c_int)


@shoal.task
def square(x):
    shoal.sleep(1e-6)
    return x * x


def total(count):
    return sum(shoal.gather(square.map(range(count))))


def call_on_thread(library, function):
    """What a function returned for the number of each call."""
    results = []

    @Callback
    def callback(number):
        # So that states are not all in one place.
        keep = [bytes(1 << 12) for _ in range(number)]
        results.append(function(number))
        del keep

    assert library.call_on_thread(callback, CALLS) == 0
    return results


if __name__ == "__main__":
    c_library = ctypes.CDLL(sys.argv[1])
    expected = [sum(i * i for i in range(number)) for number in range(CALLS)]
    with shoal.Runtime(workers=2) as runtime:
        found = call_on_thread(c_library, lambda number: runtime.submit(total, number).result())
        assert found == expected, found
    found = call_on_thread(c_library, lambda number: shoal.run(lambda world: total(number)))
    assert found == expected, found
    print("good")
