"""failing.py CASE: programs with edat.py that fail. Each ends with an exit code that is not 0, and
an error that says why."""

import atexit
import os
import sys
import time

from edat import *

CASE = sys.argv[1]


def nothing(events, num_events):
    pass


def divides(events, num_events):
    print("before the division")
    print(1 // events[0].get_data()[0])


def waits(events, num_events):
    print("before the wait")
    edatWait(1, EDAT_SELF, "never")


def locks(first, second):
    def task(events, num_events):
        edatLock(first)
        edatFireEvent(None, EDAT_NOTYPE, 0, EDAT_SELF, f"has {first}")
        while not has_both():
            time.sleep(0.001)
        edatLock(second)

    return task


taken = set()


def has_both():
    taken.update(event.metadata.event_id
                 for event in edatRetrieveAny(2, EDAT_SELF, "has a", EDAT_SELF, "has b"))
    return len(taken) == 2


def endless(events, num_events):
    print("ready", flush=True)
    while True:
        time.sleep(0.01)


atexit.register(print, "the exit functions of Python run")
edatInit({"EDAT_NUM_WORKER": 1} if CASE == "unknown_key" else {"EDAT_NUM_WORKERS": 2})
is_last = edatGetRank() == edatGetNumRanks() - 1
if CASE == "task_raises" and is_last:
    edatSubmitNamedTask(divides, "quotient", 1, EDAT_SELF, "number")
    edatFireEvent(0, EDAT_INT, 1, EDAT_SELF, "number")
if CASE == "task_raises_after_wait":
    edatSubmitTask(lambda *_: divides(edatWait(1, EDAT_SELF, "number"), 1), 0)
    edatFireEvent(0, EDAT_INT, 1, EDAT_SELF, "number")
if CASE == "task_takes_nothing":
    edatSubmitTask(lambda: None, 0)
if CASE == "task_exits":
    edatSubmitTask(lambda *_: sys.exit(0), 0)
if CASE == "task_left" and is_last:
    edatSubmitNamedTask(nothing, "waiting", 1, EDAT_SELF, "never")
if CASE == "event_left":
    edatFireEvent(1, EDAT_INT, 1, EDAT_SELF, "nobody's")
if CASE == "wait_left" and is_last:
    edatSubmitTask(waits, 0)
if CASE == "wait_left_in_main":
    print("before the wait")
    edatWait(1, EDAT_SELF, "never")
if CASE == "pause_left":
    edatSubmitNamedTask(nothing, "waiting", 1, EDAT_SELF, "never")
    edatPauseMainThread()
if CASE == "locks":
    edatSubmitTask(locks("a", "b"), 0)
    edatSubmitTask(locks("b", "a"), 0)
if CASE == "interrupt":
    edatSubmitTask(endless, 0)
if CASE == "main_raises" and is_last:
    raise KeyError("of main")
if CASE == "main_exits":
    sys.exit(0)
if CASE == "no_end":
    edatSubmitTask(nothing, 0)
else:
    edatFinalise()
    print("not refused")
