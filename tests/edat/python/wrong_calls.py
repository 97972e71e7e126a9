"""Wrong calls of edat.py: each raises an exception that says what is wrong, where, and what to do,
and the run goes on. Exit code 0: all did."""

import array
import os
import re
import sys
import threading

from edat import *

failures = []


def nothing(events, num_events):
    pass


def refuses(kind, pattern, function, *arguments, **named):
    try:
        function(*arguments, **named)
    except kind as error:
        if not re.match(pattern, str(error)):
            failures.append(f"{pattern!r} is not what it says: {error}")
    except Exception as error:
        failures.append(f"{pattern!r}: {type(error).__name__}: {error}")
    else:
        failures.append(f"{pattern!r}: not refused")


def outside_of_a_run(text):
    """Calls before edatInit, or after edatFinalise."""
    for function, *arguments in (
            (edatFinalise,), (edatPauseMainThread,), (edatRestart,), (edatGetNumWorkers,),
            (edatGetNumThreads,), (edatGetWorker,), (edatGetThread,), (edatGetNumActiveWorkers,),
            (edatSubmitTask, nothing, 0), (edatSubmitNamedTask, nothing, "a", 0),
            (edatSubmitPersistentTask, nothing, 1, 0, "a"),
            (edatSubmitPersistentGreedyTask, nothing, 1, 0, "a"),
            (edatSubmitPersistentNamedTask, nothing, "a", 1, 0, "a"),
            (edatSubmitPersistentNamedGreedyTask, nothing, "a", 1, 0, "a"),
            (edatIsTaskSubmitted, "a"), (edatRemoveTask, "a"),
            (edatFireEvent, 1, EDAT_INT, 1, 0, "a"), (edatFindEvent, [], 0, 0, "a"),
            (edatFirePersistentEvent, 1, EDAT_INT, 1, 0, "a"), (edatWait, 1, 0, "a"),
            (edatRetrieveAny, 1, 0, "a"), (edatLock, "a"), (edatUnlock, "a"), (edatTestLock, "a")):
        refuses(EdatError, f"{function.__name__}: {text}", function, *arguments)


def wrong_start():
    refuses(TypeError, "edatInit: the configuration is of type list: give a dictionary",
            edatInit, ["EDAT_NUM_WORKERS"])
    refuses(TypeError, "edatInit: a key of the configuration is of type int: give str", edatInit,
            {1: "2"})
    refuses(TypeError, "edatInit: the value of EDAT_NUM_WORKERS is of type float: give str",
            edatInit, {"EDAT_NUM_WORKERS": 2.0})
    refuses(EdatError, "edatInit: libshoal_edat.so was not found: set SHOAL_EDAT_LIBRARY to the "
            "file. Tried:\n  /not/there.so: ", edatInit, libraryPath="/not/there.so")
    refuses(EdatError, "edatInit: libc.so.6 has no function edat.*: it is not the libshoal_edat.so",
            edatInit, libraryPath="libc.so.6")


def wrong_tasks():
    call = "edatSubmitTask"
    refuses(TypeError, f"{call}: the task is None: give a function", edatSubmitTask, None, 0)
    refuses(TypeError, f"{call}: the number of events is of type str: give an int", edatSubmitTask,
            nothing, "a")
    refuses(ValueError, f"{call}: the number of events is 2, and 2 arguments follow: give a source",
            edatSubmitTask, nothing, 2, 0, "a")
    refuses(ValueError, f"{call}: the number of events is -1", edatSubmitTask, nothing, -1)
    refuses(TypeError, f"{call}: an event identifier is of type int: give str or bytes",
            edatSubmitTask, nothing, 1, 0, 0)
    refuses(ValueError, f"{call}: an event identifier b'a.x00' contains a zero byte",
            edatSubmitTask, nothing, 1, 0, "a\0")
    refuses(ValueError, f'{call}: the source of "a" is 99: give a rank from 0 to 0, EDAT_SELF',
            edatSubmitTask, nothing, 1, 99, "a")
    refuses(TypeError, f'{call}: the source of "a" is of type float', edatSubmitTask, nothing, 1,
            0.0, "a")
    refuses(TypeError, "edatSubmitNamedTask: the task's name is None: give str",
            edatSubmitNamedTask, nothing, None, 0)
    refuses(ValueError, "edatSubmitPersistentTask: a persistent task that depends on nothing would "
            "run for ever: give it", edatSubmitPersistentTask, nothing, 0)
    refuses(TypeError, "edatIsTaskSubmitted: the task's name is of type list",
            edatIsTaskSubmitted, [])
    refuses(TypeError, "edatRemoveTask: the task's name is None", edatRemoveTask, None)


def wrong_events():
    def fire(kind, pattern, data, data_type, count, target=EDAT_SELF, event_id="a"):
        refuses(kind, f"edatFireEvent: {pattern}", edatFireEvent, data, data_type, count, target,
                event_id)

    fire(ValueError, 'the target of "a" is 99: give a rank from 0 to 0, EDAT_SELF or EDAT_ALL', 1,
         EDAT_INT, 1, 99)
    fire(ValueError, 'the target of "a" is EDAT_ANY: give a rank', 1, EDAT_INT, 1, EDAT_ANY)
    fire(TypeError, "the event identifier is None", 1, EDAT_INT, 1, 0, None)
    fire(ValueError, "17 is not a type of data: there are EDAT_NOTYPE, EDAT_INT", 1, 17, 1)
    fire(TypeError, "the type of the data is None", 1, None, 1)
    fire(TypeError, "Python has no addresses to fire: keep the object", 1, EDAT_ADDRESS, 1)
    fire(TypeError, "Python has no addresses to fire", 1, 1000, 1)
    fire(ValueError, "the number of elements is -1: give one from 0 to 2147483647", 1, EDAT_INT, -1)
    fire(ValueError, "the number of elements is 4294967297: give", 1, EDAT_INT, (1 << 32) + 1)
    fire(ValueError, "the data have 1 element, and the number of elements is 2: give", 1, EDAT_INT,
         2)
    fire(ValueError, "the data have 3 elements, and", [1, 2, 3], EDAT_INT, 2)
    fire(ValueError, "the data have 2 elements, and", b"ab", EDAT_BYTE, 3)
    fire(ValueError, "the data are None, and the number of elements is 1", None, EDAT_INT, 1)
    fire(ValueError, "an event of type EDAT_NOTYPE has no data", 1, EDAT_NOTYPE, 0)
    fire(ValueError, "an event of type EDAT_NOTYPE has no data", None, EDAT_NOTYPE, 1)
    fire(TypeError, "the data are of type str: encode it", "text", EDAT_BYTE, 4)
    fire(TypeError, "the data are of type dict: give a number", {}, EDAT_INT, 0)
    fire(TypeError, "the data do not fit EDAT_INT: required argument is not an int", 1.5, EDAT_INT,
         1)
    fire(TypeError, "the data do not fit EDAT_INT: ", 1 << 31, EDAT_INT, 1)
    fire(TypeError, "the data do not fit EDAT_BYTE: ", [200], EDAT_BYTE, 1)
    fire(TypeError, "the data do not fit EDAT_FLOAT: ", 1e300, EDAT_FLOAT, 1)
    fire(TypeError, "the data do not fit EDAT_DOUBLE: ", 1j, EDAT_DOUBLE, 1)
    fire(TypeError, "the data do not fit EDAT_DOUBLE: ", [[1.0]], EDAT_DOUBLE, 1)
    fire(TypeError, "elements of the format 'd' with 8 bytes are no EDAT_INT, which has 4 bytes",
         array.array("d", [1.0]), EDAT_INT, 1)
    fire(TypeError, "elements of the format 'I' with 4 bytes are no EDAT_INT",
         array.array("I", [1]), EDAT_INT, 1)
    fire(TypeError, "elements of the format 'B' with 1 bytes are no EDAT_INT", b"abcd", EDAT_INT, 1)
    refuses(ValueError, 'edatFirePersistentEvent: the target of "a" is EDAT_ANY',
            edatFirePersistentEvent, 1, EDAT_INT, 1, EDAT_ANY, "a")
    refuses(ValueError, "edatFindEvent: the number of events is 1, and the list has 0",
            edatFindEvent, [], 1, 0, "a")
    refuses(ValueError, "edatWait: the number of events is 1, and 0", edatWait, 1)
    refuses(TypeError, "edatRetrieveAny: an event identifier", edatRetrieveAny, 1, 0, None)


def wrong_reading():
    edatFireEvent(b"abc", EDAT_BYTE, 3, EDAT_SELF, "bytes")
    event = edatWait(1, EDAT_SELF, "bytes")[0]
    refuses(ValueError, 'get_raw_data: the event "bytes" from rank 0 has 3 bytes, which are no '
            "whole number of EDAT_INT: read it as EDAT_BYTE", event.get_data, EDAT_INT)
    refuses(ValueError, "get_raw_data: 17 is not a type of data", event.get_data, 17)


def wrong_places():
    refuses(EdatError, "edatInit: edatInit was called before: call it once", edatInit)
    refuses(EdatError, 'edatUnlock: the caller does not have the lock "a": call edatLock first',
            edatUnlock, "a")
    refuses(TypeError, "edatLock: the lock's name is of type int", edatLock, 1)

    def in_task(events, num_events):
        where = "called in the task 'wrong' .*in_task.: call it in the main program"
        for function in (edatFinalise, edatPauseMainThread, edatRestart):
            refuses(EdatError, f"{function.__name__}: {where}", function)

    def in_thread():
        refuses(EdatError, "edatFinalise: call it in the thread that called edatInit",
                edatFinalise)

    edatSubmitNamedTask(in_task, "wrong", 0)
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    child = os.fork()
    if child == 0:
        refuses(EdatError, "edatGetWorker: this is a forked copy", edatGetWorker)
        os._exit(len(failures))
    if os.waitpid(child, 0)[1] != 0:
        failures.append("the forked copy")


refuses(EdatError, "edatGetRank: call edatInit first", edatGetRank)
refuses(EdatError, "edatGetNumRanks: call edatInit first", edatGetNumRanks)
outside_of_a_run("call edatInit first")
wrong_start()
edatInit({"EDAT_NUM_WORKERS": 1})
for part in (wrong_tasks, wrong_events, wrong_reading, wrong_places):
    part()
edatFinalise()
outside_of_a_run("called after edatFinalise")
for failure in failures:
    print(failure, file=sys.stderr)
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
