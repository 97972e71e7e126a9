"""calls.py WORKERS: the calls of edat.py, on any number of ranks. Exit code 0: all were right."""

import array
import ctypes
import gc
import sys
import threading
import weakref

from edat import *

WAITERS = 40

failures = []


def check(condition, text):
    if not condition:
        failures.append(text)


def fire(event_id, target=EDAT_SELF):
    edatFireEvent(None, EDAT_NOTYPE, 0, target, event_id)


def check_payloads():
    """Fires data of each kind, and compares them with those that the task gets."""
    doubles = array.array("d", [1.5, -2.5])
    grid = memoryview(bytes(range(12))).cast("B", (3, 4))
    cases = [
        (22, EDAT_INT, 1, [22]),
        (-1, EDAT_BYTE, 1, [-1]),
        (1 << 40, EDAT_LONG, 1, [1 << 40]),
        (0.5, EDAT_FLOAT, 1, [0.5]),
        (3, EDAT_DOUBLE, 1, [3.0]),
        (True, EDAT_INT, 1, [1]),
        ([1, 2, 3], EDAT_INT, 3, [1, 2, 3]),
        ((1.5, 2), EDAT_DOUBLE, 2, [1.5, 2.0]),
        ([], EDAT_INT, 0, []),
        (None, EDAT_INT, 0, []),
        (b"\xff\0a", EDAT_BYTE, 3, [-1, 0, 97]),
        (b"", EDAT_BYTE, 0, []),
        (bytearray(b"ab"), EDAT_BYTE, 2, [97, 98]),
        (doubles, EDAT_DOUBLE, 2, [1.5, -2.5]),
        (array.array("i", range(5)), EDAT_INT, 5, [0, 1, 2, 3, 4]),
        (memoryview(doubles)[1:], EDAT_DOUBLE, 1, [-2.5]),
        (memoryview(doubles)[::-1], EDAT_DOUBLE, 2, [-2.5, 1.5]),
        (memoryview(b"abc")[1:], EDAT_BYTE, 2, [98, 99]),
        (grid, EDAT_BYTE, 12, list(range(12))),
        ((ctypes.c_long * 2)(7, 8), EDAT_LONG, 2, [7, 8]),
        (None, EDAT_NOTYPE, 0, []),
        *numpy_cases(),
    ]

    def compare(events, num_events):
        check(num_events == len(cases), f"{num_events} payloads")
        for event, (data, data_type, count, wanted) in zip(events, cases):
            about = event.metadata
            check(event.get_data() == wanted, f"{data!r} came as {event.get_data()}")
            check((about.data_type, about.number_elements, about.source) ==
                  (data_type, count, edatGetRank()), f"{about} for {data!r}")
            check(about.event_id.startswith("payload"), about.event_id)

    pairs = [word for i in range(len(cases)) for word in (EDAT_SELF, f"payload {i}")]
    edatSubmitTask(compare, len(cases), *pairs)
    for i, (data, data_type, count, _) in enumerate(cases):
        edatFireEvent(data, data_type, count, EDAT_SELF, f"payload {i}")
    doubles[0] = 0.0  # the event has a copy
    edatPauseMainThread()


def numpy_cases():
    try:
        import numpy
    except ImportError:
        return []

    def takes(events, num_events):
        got = events[0].get_array()
        got += 1
        check(list(got) == [1, 2, 3] and got.dtype == numpy.float64, repr(got))
        check(events[0].get_data() == [1, 2, 3], "numpy does not share the event's data")

    edatSubmitTask(takes, 1, EDAT_SELF, "array")
    edatFireEvent(numpy.arange(3.0), EDAT_DOUBLE, 3, EDAT_SELF, "array")
    frozen = numpy.arange(2, dtype=numpy.int32)
    frozen.setflags(write=False)
    return [(numpy.arange(6.0).reshape(2, 3).T, EDAT_DOUBLE, 6, [0, 3, 1, 4, 2, 5]),
            (numpy.arange(4, dtype=numpy.int64)[::2], EDAT_LONG, 2, [0, 2]),
            (frozen, EDAT_INT, 2, [0, 1]),
            (numpy.float32(0.5), EDAT_FLOAT, 1, [0.5]),
            (numpy.int64(5), EDAT_INT, 1, [5]),
            (numpy.array(2.5), EDAT_DOUBLE, 1, [2.5]),
            (numpy.array([True, False]), EDAT_BYTE, 2, [1, 0]),
            ([numpy.int32(3)], EDAT_LONG, 1, [3])]


def check_events():
    """Events outlive their task; their bytes can be read as another type, and changed."""
    kept = []

    def keeps(events, num_events):
        kept.extend(events)
        check(edatFindEvent(events, num_events, EDAT_SELF, "kept") == 0, "edatFindEvent")
        check(edatFindEvent(events, num_events, EDAT_ANY, b"none") == -1, "edatFindEvent of none")

    edatSubmitTask(keeps, 2, EDAT_SELF, "kept", EDAT_SELF, "caf\xe9")
    edatFireEvent([1, 0], EDAT_INT, 2, EDAT_SELF, b"kept")
    fire("caf\xe9".encode())
    edatPauseMainThread()
    edatRestart()
    kept[0].get_raw_data()[1] = 1
    check(kept[0].get_data() == [1, 1], "get_raw_data is a copy")
    check(kept[0].get_data(EDAT_LONG) == [(1 << 32) + 1], "not read as EDAT_LONG")
    check(kept[0].get_bytes() == bytes(kept[0].data), "get_bytes")
    check(kept[1].get_raw_data() is None and kept[1].get_bytes() == b"", "no payload")
    check(kept[1].metadata.event_id == "caf\xe9", kept[1].metadata.event_id)


def check_waits():
    """Many tasks of few workers wait at once, deep in calls, and go on in the reverse order."""
    order = []

    def waits(number, depth):
        if depth > 0:
            return waits(number, depth - 1) + 1
        own = [number] * 50
        fire("waits")
        got = edatWait(2, EDAT_SELF, f"go {number}", EDAT_ANY, f"also {number}")
        check(got[0].get_data() == own[:1], f"{number} got {got}")
        order.append(number)
        fire(f"also {number - 1}")
        return 0

    def releases(events, num_events):
        for number in range(WAITERS):
            edatFireEvent(number, EDAT_INT, 1, EDAT_SELF, f"go {number}")
        fire(f"also {WAITERS - 1}")

    def compares(events, num_events):
        check(order == list(range(WAITERS))[::-1], f"order {order}")

    edatSubmitTask(releases, WAITERS, *[EDAT_SELF, "waits"] * WAITERS)
    edatSubmitTask(compares, 1, EDAT_SELF, "also -1")
    for number in range(WAITERS):
        edatSubmitTask(lambda _, __, n=number: check(waits(n, 20) == 20, f"waiter {n}"), 0)
    edatPauseMainThread()


def check_retrieving():
    def polls(events, num_events):
        check(edatRetrieveAny(1, EDAT_SELF, "not there") == [], "an event that is not there")
        fire("kick")
        got = []
        while len(got) < 2:
            got += edatRetrieveAny(2, EDAT_SELF, "one", EDAT_SELF, "two")
        check({event.metadata.event_id for event in got} == {"one", "two"}, repr(got))

    edatSubmitTask(polls, 0)
    edatSubmitTask(lambda *_: [fire("one"), fire("two")], 1, EDAT_SELF, "kick")


def check_names():
    def never(events, num_events):
        check(False, "a removed task runs")

    edatSubmitNamedTask(never, "named", 1, EDAT_ANY, "never")
    edatSubmitPersistentNamedTask(never, b"often", 1, EDAT_ANY, "never")
    check(edatIsTaskSubmitted("named") and edatIsTaskSubmitted("often"), "not submitted")
    check(edatRemoveTask(b"named") and edatRemoveTask("often"), "not removed")
    check(not edatIsTaskSubmitted("named") and not edatRemoveTask("often"), "still there")


def check_persistent():
    runs, greedy, named_greedy, twice = [], [], [], []
    edatSubmitPersistentTask(lambda events, n: runs.append(n), 1, EDAT_SELF, "run")
    edatSubmitPersistentGreedyTask(lambda events, n: greedy.append(n), 1, EDAT_SELF, "greedy")
    edatSubmitPersistentNamedGreedyTask(lambda events, n: named_greedy.append(n), "all", 1,
                                        EDAT_SELF, "greedy 2")
    for _ in range(5):
        fire("run")
        fire("greedy")
        fire("greedy 2")
    edatFirePersistentEvent(6, EDAT_INT, 1, EDAT_SELF, "again")
    for _ in range(2):
        edatSubmitTask(lambda events, n: twice.extend(events[0].get_data()), 1, EDAT_SELF, "again")
    edatPauseMainThread()
    check(runs == [1] * 5, f"persistent: {runs}")
    check(sum(greedy) == 5 and sum(named_greedy) == 5, f"greedy: {greedy}, {named_greedy}")
    check(twice == [6, 6], f"persistent event: {twice}")
    check(edatRemoveTask("all"), "the greedy task is not there")


def check_surplus():
    """A persistent task holds the events of one run; another task gets the surplus one."""
    got = []

    def takes(events, num_events):
        got.append([event.get_data()[0] for event in events])

    edatSubmitPersistentNamedTask(takes, "takes two", 2, EDAT_SELF, "surplus", EDAT_SELF, "second")
    for number in (1, 2):
        edatFireEvent(number, EDAT_INT, 1, EDAT_SELF, "surplus")
    edatSubmitTask(takes, 1, EDAT_SELF, "surplus")
    edatFireEvent(3, EDAT_INT, 1, EDAT_SELF, "second")
    edatPauseMainThread()
    edatRemoveTask("takes two")
    check(sorted(got) == [[1, 3], [2]], f"surplus events: {got}")


def check_locks():
    shared = []

    def adds(events, num_events):
        check(not edatTestLock("sum"), "has a lock")
        edatLock("sum")
        edatLock(b"sum")  # once more is as good as once
        check(edatTestLock("sum"), "has no lock")
        before = len(shared)
        shared.append(before)
        check(len(shared) == before + 1, "two have the lock")
        edatUnlock("sum")
        check(not edatTestLock("sum"), "has it still")

    def holds(events, num_events):
        edatLock("held")
        fire("is held")
        edatWait(1, EDAT_SELF, "was free")
        check(edatTestLock("held"), "lost the lock in a wait")

    def takes(events, num_events):
        edatLock("held")
        fire("was free")

    for _ in range(10):
        edatSubmitTask(adds, 0)
    edatSubmitTask(holds, 0)
    edatSubmitTask(takes, 1, EDAT_SELF, "is held")
    edatPauseMainThread()
    check(shared == list(range(10)), repr(shared))


class Task:
    """A task that a weak reference can follow."""

    def __call__(self, events, num_events):
        pass


def check_lifetimes():
    """The library keeps all that it may still call, and nothing else."""
    once, often, removed = Task(), Task(), Task()
    references = [weakref.ref(one) for one in (once, often, removed)]

    def exist():
        gc.collect()
        return [one() is not None for one in references]

    edatSubmitTask(once, 1, EDAT_SELF, "life")
    edatSubmitPersistentNamedTask(often, "often", 1, EDAT_SELF, "lives")
    edatSubmitNamedTask(removed, "removed", 1, EDAT_SELF, "never")
    del once, often, removed
    check(exist() == [True] * 3, f"released too early: {exist()}")
    edatRemoveTask("removed")
    check(exist() == [True, True, False], f"after one was removed: {exist()}")
    fire("life")
    fire("lives")
    edatPauseMainThread()
    check(exist() == [False, True, False], f"after one has run: {exist()}")
    fire("lives")
    edatPauseMainThread()
    edatRemoveTask("often")
    check(exist() == [False] * 3, f"after the persistent one was removed: {exist()}")


def check_threads():
    """Threads of the program fire and submit; a task runs in none of them."""
    names = set()

    def runs(events, num_events):
        names.add(threading.get_ident())
        check(-1 < edatGetWorker() < edatGetNumWorkers(), f"worker {edatGetWorker()}")
        check(edatGetNumActiveWorkers() >= 1, "no worker is active")

    def fires():
        for _ in range(20):
            edatSubmitTask(runs, 1, EDAT_SELF, "from a thread")
            fire("from a thread")

    threads = [threading.Thread(target=fires) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    edatPauseMainThread()
    check(threading.get_ident() not in names, "a task runs in main()")
    check(edatGetWorker() == edatGetThread() == -1, "main() is a worker")
    check(edatGetNumThreads() == edatGetNumWorkers(), "edatGetNumThreads")


def check_recursion():
    def endless(events, num_events):
        def deeper():
            return deeper() + 1

        try:
            deeper()
        except RecursionError:
            fire("recursion")

    edatSubmitTask(endless, 0)
    check(edatWait(1, EDAT_SELF, "recursion")[0].get_data() == [], "edatWait in main")


def check_ranks():
    """A token goes around all ranks, with a wait in each; every rank hears of every other."""
    rank, size = edatGetRank(), edatGetNumRanks()

    def hears(events, num_events):
        check([event.get_data() for event in events] == [[i, -i] for i in range(size)], "EDAT_ALL")

    def passes_on(events, num_events):
        go = edatWait(1, rank, "go")
        hops = events[0].get_data()[0] + 1
        check(go[0].metadata.source == rank, "source")
        if rank != 0:
            edatFireEvent(hops, EDAT_INT, 1, (rank + 1) % size, "token")
        else:
            check(hops == size, f"{hops} hops")

    edatSubmitTask(hears, 1, EDAT_ALL, "hello")
    edatFireEvent([rank, -rank], EDAT_LONG, 2, EDAT_ALL, "hello")
    edatSubmitTask(passes_on, 1, EDAT_ANY, "token")
    if rank == 0:
        edatFireEvent(0, EDAT_INT, 1, 1 % size, "token")
    fire("go")
    edatPauseMainThread()

    large = array.array("l", range(100_000))
    edatSubmitTask(lambda events, n: check(events[0].get_data() == list(large), "a large event"),
                   1, (rank - 1) % size, "large")
    edatSubmitTask(lambda events, n: edatFireEvent(large, EDAT_LONG, len(large), (rank + 1) % size,
                                                   "large"), 0)


def main():
    workers = int(sys.argv[1])
    edatInit({b"EDAT_NUM_WORKERS": workers, "EDAT_MAIN_THREAD_WORKER": False})
    check(edatGetNumWorkers() == workers, "the configuration has no effect")
    for part in (check_payloads, check_events, check_waits, check_retrieving, check_names,
                 check_persistent, check_surplus, check_locks, check_lifetimes, check_threads,
                 check_recursion, check_ranks):
        part()
    edatFinalise()
    edatInit()
    edatSubmitTask(lambda events, n: check(n == edatGetNumRanks(), "a second run"), 1, EDAT_ALL,
                   "again")
    fire("again", EDAT_ALL)
    edatFinalise()
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"rank {edatGetRank()} of {edatGetNumRanks()}: {len(failures)} failures")
    sys.exit(1 if failures else 0)


main()
