"""Wrong programs, as those who know shoal little would write them: mistakes.py CASE. Each ends with
an exception that says what, where, and what to do."""

import array
import ctypes
import multiprocessing
import os
import sys
import threading

import shoal

kept = []


def double(x):
    return 2 * x


def forks(world):
    world.submit(os.fork).result()


def pools(world):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(double, [1, 2]))


def closure(world):
    offset = 3
    lock = threading.Lock()
    world.call(world.size - 1, lambda x: (x + offset, lock), 1).result()


def each_other(world):
    """Two tasks wait for each other's results."""
    first, second = shoal.Promise("first"), shoal.Promise("second")

    def waits(mine, other):
        mine.set_result(other.future.result())

    world.spawn(waits, first, second)
    world.spawn(waits, second, first)
    world.wait()


def lonely_barrier(world):
    if world.rank == 0:
        world.barrier()


def other_order(world):
    """Ranks make their objects in different orders."""
    if world.rank == 0:
        shoal.Events("a"), shoal.GlobalArray(10, name="b")
    else:
        shoal.GlobalArray(10, name="b"), shoal.Events("a")


class Bank(shoal.Object):
    def deposit(self):
        return 1


class Vault(shoal.Object):
    def deposit(self):
        return 2


def other_classes(world):
    """Ranks make objects of different classes in different orders."""
    kinds = (Bank, Vault) if world.rank == 0 else (Vault, Bank)
    objects = [kind() for kind in kinds]
    world.barrier()
    objects[0][(world.rank + 1) % world.size].deposit().result()


def other_classes_send(world):
    """As other_classes, where nobody asks for a result."""
    bank = (Bank if world.rank == 0 else Vault)()
    world.barrier()
    if world.rank == 0:
        bank[world.size - 1].deposit.send()
    world.wait()


def shared_graph(world):
    """All ranks of the process write the graph to one global variable."""
    global graph
    if world.rank == 0:
        graph = None
    world.barrier()
    mine = shoal.TaskGraph(fulfills, rank=lambda key: key % world.size, name="chain")
    if world.rank == 1:
        graph = mine
    world.barrier()
    if world.rank == 0:
        mine.fulfill(0)
    world.wait()


def fulfills(key):
    graph.fulfill(key + 1)


def other_operations(world):
    """Ranks reduce by different operations."""
    world.allreduce(array.array("d", [1, 2]), shoal.SUM if world.rank == 0 else shoal.MAX)


def other_functions(world):
    world.allreduce(3, max if world.rank == 0 else min)


def other_lambdas(world):
    """Their names are the same."""
    operations = (lambda a, b: a + b), (lambda a, b: a - b)
    world.allreduce(3, operations[world.rank % 2])


def fulfilled_again(world):
    graph = shoal.TaskGraph(print, name="sums")
    if world.rank == 0:
        graph.fulfill(1)
        graph.fulfill(1)
    world.wait()


def other_roots(world):
    world.reduce(3, shoal.SUM, world.rank)


def other_parts(world):
    """Arrays of two types, which are as large."""
    world.alltoall(array.array("d" if world.rank == 0 else "q", [1, 2, 3, 4]))


def other_shapes(world):
    import numpy
    world.allreduce(numpy.ones((2, 3) if world.rank == 0 else (3, 2)), shoal.SUM)


def other_arrays(world):
    """Ranks register arrays of different shapes."""
    import numpy
    flow = shoal.Flow("sums")
    numbers = flow.data(numpy.zeros(3 + world.rank), owner=1, name="numbers")
    flow.get(numbers)


def other_types(world):
    import numpy
    flow = shoal.Flow("sums")
    flow.data(numpy.zeros(3, "f8" if world.rank == 0 else "i8"), name="numbers")
    flow.wait()


def other_mapping(world):
    """Ranks have tasks of one key on different ranks."""
    graph = shoal.TaskGraph(print, name="sums", rank=lambda key: (key + world.rank) % world.size)
    graph.fulfill(1)
    world.wait()


def unfulfilled(world):
    graph = shoal.TaskGraph(print, 3, name="sums")
    graph.fulfill("total", 2)
    world.wait()


def two_inputs(world):
    graph = shoal.TaskGraph(lambda key, left, right: None, name="sums")
    graph.send(1, left=1)
    graph.send(1, left=2)
    world.wait()


def forgotten_error(world):
    shoal.task(double).map([None, {}])
    world.wait()


def generator(world):
    yield world.rank


def no_parameter():
    return 1


def recursion(world):
    """Through frames of C, on the stack of a fiber."""
    def deeper(x):
        return max([x], key=lambda y: deeper(y + 1))
    world.submit(deeper, 0).result()


def nested(world):
    """Through frames of C only."""
    value = []
    for _ in range(100000):
        value = [value]
    world.call(0, double, value).result()


def exits_in_task(world):
    world.submit(sys.exit, 3).result()


def other_programs(world):
    """Ranks insert different tasks into a flow."""
    flow = shoal.Flow("sums")
    data = [flow.data(0), flow.data(0)]
    add = flow.task(double, x=shoal.read_write)
    add(data[world.rank % 2])
    flow.wait()


def writes_what_it_reads(world):
    flow = shoal.Flow("sums", check_reads=True)
    numbers = flow.data([1], name="numbers")
    flow.task(lambda numbers: numbers.append(2), name="cheat", numbers=shoal.read)(numbers)
    flow.wait()


def writes_nothing(world):
    flow = shoal.Flow("sums")
    flow.task(lambda x: None, name="lazy", x=shoal.write)(flow.data(name="total"))
    flow.wait()


def writes_no_number(world):
    """What a name of the task stands for is no value of the datum."""
    flow = shoal.Flow("sums")

    def count(x):
        x += 1

    flow.task(count, x=shoal.read_write)(flow.data(5, name="total"))
    flow.wait()


def other_elements(world):
    """They are as large."""
    shoal.GlobalArray(8, int if world.rank == 0 else float, name="sums")[7]


def other_sizes(world):
    shoal.GlobalArray(8 + world.rank, name="sums")[7]


class Selfish:
    def outer(self):
        return shoal.Actor("selfish").inner().result()

    def inner(self):
        return 1


@shoal.flow_task(x=shoal.read_write, retries=2)
def patient(x):
    shoal.sleep(1e-6)


def waits_in_attempt(world):
    flow = shoal.Flow("sums")
    patient(flow.data(1))
    flow.wait()


def locks_in_attempt(world):
    """The error is that of the lock: it is not tried again."""
    events = shoal.Events("jobs")
    events.submit([], lambda got: events.lock("rows"), name="locker", retries=2)
    world.wait()


def event_fails_each_time(world):
    events = shoal.Events("jobs")
    events.submit([], lambda got: [].pop(), name="hopeless", retries=2)
    world.wait()


@shoal.flow_task(x=shoal.read_write, retries=2)
def hopeless(x):
    raise OSError("not today")


def fails_each_time(world):
    flow = shoal.Flow("sums")
    hopeless(flow.data(1))
    flow.wait()


def self_call(world):
    """An actor that waits for itself."""
    if world.rank == 0:
        shoal.Actor.create("selfish", Selfish, rank=0).outer().result()


def no_actor(world):
    shoal.Actor("nobody")


def timer_raises(world):
    shoal.Timer(1e-5, double, None)


def resizes(world):
    """An array that travels is resized meanwhile."""
    numbers = array.array("d", range(100000))
    everywhere = shoal.GlobalArray(len(numbers))
    world.barrier()

    def put():
        for _ in range(5):
            everywhere[:] = numbers

    putting = world.submit(put)
    while not putting.done():
        try:
            numbers.append(1.0)
            numbers.pop()
        except BufferError as error:
            print(f"refused: {error}\n", end="")
        shoal.sleep(1e-7)
    world.barrier()
    assert list(everywhere[:]) == list(range(100000))


def late(world):
    """Too slow for its deadline."""
    with shoal.Deadline(0.001, "too slow"):
        world.submit(shoal.sleep, 1000).result()


def outlives(world):
    kept.extend([world, shoal.Promise("kept"), shoal.Mutex(), shoal.Semaphore(1), shoal.Events(),
                 shoal.GlobalArray(1), shoal.Flow(), shoal.Counter(), shoal.Cache(double),
                 world.submit(double, 1), shoal.Timer(0, double, 1)])
    kept.append(kept[6].data(1))


def use_after(function):
    """Objects of a run that has ended."""
    shoal.run(function)
    world, promise, mutex, semaphore, events, array, flow, counter, cache, future, *others = kept
    timer, datum = others
    for call in (lambda: world.submit(double, 1), lambda: promise.set_result(1), mutex.lock,
                 semaphore.acquire, lambda: events.fire(0, "x"), lambda: array[0], flow.wait,
                 counter.add, lambda: cache.get(1), datum.get, shoal.yield_now,
                 lambda: shoal.sleep(0), lambda: shoal.gather([promise.future])):
        try:
            call()
            print("not refused:", call)
        except shoal.Error as error:
            print("refused:", error)
    print(future.result(), timer.future.result())


def two_runs(function):
    """In two threads at once."""
    inside, over = threading.Event(), threading.Event()

    def long(world):
        inside.set()
        over.wait()

    thread = threading.Thread(target=shoal.run, args=[long])
    thread.start()
    inside.wait()
    try:
        print(shoal.run(lambda world: world.size))
    finally:
        over.set()
        thread.join()


def crashes(world):
    def reads_address_zero():
        ctypes.string_at(0)
    world.submit(reads_address_zero).result()


SPECIAL = {"outlives": use_after, "two_runs": two_runs}

if __name__ == "__main__":
    case = sys.argv[1]
    SPECIAL.get(case, shoal.run)(globals()[case])
    print("ended")
