"""Events, distributed objects and global arrays."""

import copy
import os
import pickle
import signal
import socket
import threading

import shoal
from support import refuses

seen = []


class Bank(shoal.Object):
    """An account on each rank."""

    def __init__(self):
        super().__init__()
        self.balance = 0
        self.history = []

    def deposit(self, amount):
        self.balance += amount
        self.history.append(amount)
        return self.balance

    def where(self):
        shoal.sleep(1e-6)
        return shoal.current_world().rank

    def overdraw(self):
        raise ValueError(f"no money on rank {self.where()}")

    def pass_on(self, amount, rank):
        """An invocation that waits for one on another rank."""
        self.balance -= amount
        return self[rank].deposit(amount).result()


def check_objects(world):
    bank = Bank()
    next_rank = (world.rank + 1) % world.size
    for amount in range(20):
        bank[next_rank].deposit.send(amount)
    assert bank[next_rank].where().result() == next_rank
    assert bank[next_rank].deposit(1000).result() >= 1000
    bank.fence()
    assert bank.history == [*range(20), 1000], bank.history
    refuses(ValueError, f"no money on rank {next_rank}", bank[next_rank].overdraw().result)
    bank[next_rank].pass_on(500, world.rank).result()
    bank.fence()
    assert sum(world.allgather(bank.balance)) == 1190 * world.size
    assert [one.where().result() for one in bank] == list(range(world.size))
    refuses(AttributeError, "no public method 'balance'", getattr, bank[0], "balance")
    for name in ("balance", "deposit", "new"):
        refuses(AttributeError, f"{name}' of <Bank on rank 0> cannot be written.*method", setattr,
                bank[0], name, 100)
        refuses(AttributeError, "cannot be deleted", delattr, bank[0], name)
    assert vars(bank[0]).keys() == {"_target", "_rank"}
    refuses(shoal.CheckError, "99 is no rank", bank.__getitem__, 99)
    refuses(TypeError, "is not sent", bank.__reduce_ex__, 5)
    return bank


def check_events(world):
    events = shoal.Events("greetings")
    arrived = []

    def greet(got):
        shoal.sleep(1e-6)
        arrived.append(got)

    events.submit([(shoal.ANY, "hello"), (shoal.SELF, "go")], greet)
    events.submit([(shoal.ALL, "all")], arrived.append, name="collects")
    assert events.is_submitted("collects")
    events.fire((world.rank + 1) % world.size, "hello", {"from": world.rank})
    events.fire(shoal.SELF, "go")
    events.fire(shoal.ALL, "all", world.rank)
    world.wait()
    before = (world.rank - 1) % world.size
    assert [shoal.Event(before, "hello", {"from": before}),
            shoal.Event(world.rank, "go", None)] in arrived, arrived
    assert [shoal.Event(rank, "all", rank) for rank in range(world.size)] in arrived
    events.fire_after(1e-5, shoal.SELF, "later", 1)
    assert events.wait([(shoal.SELF, "later")])[0].value == 1
    events.fire(shoal.SELF, "b", 2)
    assert events.wait_any([(shoal.SELF, "a"), (shoal.SELF, "b")]).value == 2
    refuses(shoal.CheckError, "no rank: give", events.fire, "x", "name")
    refuses(shoal.CheckError, "to shoal.ANY: give a rank, shoal", events.fire, shoal.ANY, "x")
    refuses(shoal.CheckError, "no pair", events.wait, ["name"])
    refuses(shoal.CheckError, "cannot be sent", events.fire, shoal.SELF, "f", threading.Lock())
    refuses(shoal.CheckError, "a time of -1 seconds", events.fire_after, -1, shoal.SELF, "x")
    refuses(shoal.CheckError, "a time of inf seconds never ends", events.fire_after, float("inf"),
            shoal.SELF, "x")
    check_objects_in_events(world, events)
    check_retries(world, events)
    check_named_locks(world, events)
    check_machine(world, events)
    return events


def check_objects_in_events(world, events):
    """They are not copied, and need no pickle."""
    book = {"lock": threading.Lock(), "lines": []}

    def write(got):
        mine, line = (event.value for event in got)
        mine["lines"].append(line)
        shoal.sleep(1e-6)
        events.fire_object("book", mine)

    events.submit([(shoal.SELF, "book"), (shoal.ANY, "line")], write, persistent=True)
    events.fire_object("book", book)
    for number in range(3):
        events.fire(shoal.ALL, "line", number)
    world.wait()
    assert sorted(book["lines"]) == sorted([0, 1, 2] * world.size), book
    assert events.remove("check_objects_in_events.<locals>.write")
    assert events.wait([(shoal.SELF, "book")])[0].value is book
    events.fire_object("always", book, persistent=True)
    for _ in range(3):
        assert events.wait([(shoal.SELF, "always")])[0].value is book
    assert events.retrieve_any([(shoal.SELF, "book")]) == []
    refuses(shoal.CheckError, "the event 3: its name is 3", events.fire_object, 3, book)


def check_retries(world, events):
    """A task begins again with the events that it had; what its attempts do is withheld."""
    tries, out = [], []

    def flaky(got):
        book = got.pop().value
        numbers = got.pop().value
        tries.append((book, list(numbers)))
        numbers.append("changed")
        events.fire(shoal.SELF, "out", len(tries))
        world.spawn(out.append, "spawned")
        if len(tries) < 3:
            raise OSError("not yet")

    book = object()
    events.submit([(shoal.SELF, "work"), (shoal.SELF, "book")], flaky, retries=2)
    events.submit([(shoal.SELF, "out")], lambda got: out.append(got[0].value), persistent=True,
                  name="out")
    events.fire(shoal.SELF, "work", [world.rank])
    events.fire_object("book", book)
    world.wait()
    assert tries == [(book, [world.rank])] * 3, tries
    assert sorted(out, key=str) == [3, "spawned"], out
    assert events.remove("out")
    assert book not in events._objects.values()
    refuses(shoal.CheckError, "-1 is no number of retries", events.submit, [], print, retries=-1)


def check_named_locks(world, events):
    count = 0

    def add():
        nonlocal count
        with events.locked("count"):
            before = count
            shoal.sleep(1e-6)
            count = before + 1

    shoal.gather([world.submit(add) for _ in range(20)])
    assert count == 20, count

    def forget():
        events.lock("count")

    world.submit(forget).result()
    events.lock("count")  # waits for the end of the task, which releases it
    assert world.submit(events.try_lock, "count").result() is False
    refuses(shoal.CheckError, "count", events.lock, "count")

    def answer(got):
        with events.locked("count"):  # the main function is in wait(), and has released it
            events.fire(shoal.SELF, "answer", count)

    events.submit([(shoal.SELF, "question")], answer)
    events.fire(shoal.SELF, "question")
    assert events.wait([(shoal.SELF, "answer")])[0].value == 20
    assert world.submit(events.try_lock, "count").result() is False
    events.unlock("count")
    refuses(shoal.CheckError, "count", events.unlock, "count")
    refuses(shoal.CheckError, "the lock's name is None", events.lock, None)
    refuses(shoal.CheckError, "the lock's name is 1", events.locked, 1)


def check_machine(world, events):
    """Events of the machine, which a simulation has not."""
    here = (shoal.SELF, "x")
    refuses(shoal.CheckError, "'a' is no open descriptor", events.fire_when_readable, "a", *here)
    refuses(shoal.CheckError, "-1 is no open descriptor", events.fire_when_readable, -1, *here)
    refuses(shoal.CheckError, "0 is no signal", events.fire_on_signal, 0, *here)
    refuses(shoal.CheckError, "True is no signal", events.fire_on_signal, True, *here)
    refuses(shoal.CheckError, "0 is no size", events.fire_when_memory_above, 0, *here)
    refuses(shoal.CheckError, "1.5 is no size", events.fire_when_memory_above, 1.5, *here)
    refuses(shoal.CheckError, "no rank: give", events.fire_on_signal, 1, "x", "x")
    if world.launch == "simulated":
        for call, what in ((events.fire_when_readable, 0), (events.fire_on_signal, 1),
                           (events.fire_when_memory_above, 1)):
            refuses(shoal.CheckError, "cannot be watched in a simulated world", call, what, *here)
        return
    reading, writing = socket.socketpair()
    with reading, writing:
        never = events.fire_when_readable(reading, shoal.SELF, "never")
        assert events.cancel(never) and not events.cancel(never)
        events.fire_when_readable(reading, shoal.ALL, "input")
        writing.send(b"x")
        assert events.wait([(shoal.ALL, "input")]) == [
            shoal.Event(rank, "input", None) for rank in range(world.size)]
        assert reading.recv(1) == b"x"
        events.fire_when_readable(reading.fileno(), shoal.SELF, "closed")
        writing.close()
        assert events.wait([(shoal.SELF, "closed")])[0].value is None
    refuses(shoal.CheckError, "-1 is no open descriptor", events.fire_when_readable, reading, *here)
    with open(os.devnull) as file:
        pass
    refuses(shoal.CheckError, "no open descriptor: .*closed", events.fire_when_readable, file,
            *here)
    refuses(shoal.Error, "descriptor 1000000 cannot be watched", events.fire_when_readable, 1000000,
            *here)
    # Its default action is none, so that it may come once more when nobody watches any more.
    events.fire_on_signal(signal.SIGURG, shoal.SELF, "urgent")
    os.kill(os.getpid(), signal.SIGURG)
    assert events.wait([(shoal.SELF, "urgent")]) == [shoal.Event(world.rank, "urgent", None)]
    refuses(shoal.Error, "signal 1 cannot be watched.*handles it", events.fire_on_signal,
            signal.SIGHUP, *here)
    for number in (signal.SIGKILL, signal.SIGSTOP):
        refuses(shoal.Error, f"signal {number:d} cannot be watched.*no process can catch it",
                events.fire_on_signal, number, *here)
    events.fire_when_memory_above(1, shoal.SELF, "large")
    assert events.cancel(events.fire_when_memory_above(2**60, shoal.SELF, "never"))
    assert events.wait([(shoal.SELF, "large")])[0].value is None


def check_arrays(world):
    count = 10 * world.size
    ga = shoal.GlobalArray(count, name="numbers")
    whole = shoal.GlobalArray(5, int, name="counts")
    first = 10 * world.rank
    ga[first:first + 10] = [float(i) for i in range(first, first + 10)]
    ga.quiet()
    world.barrier()
    assert list(ga[:]) == [float(i) for i in range(count)]
    assert list(ga[3:7]) == [3.0, 4.0, 5.0, 6.0] and ga[-1] == count - 1 and len(ga) == count
    assert ga.owner(0) == 0 and ga.owner(count - 1) == world.size - 1
    world.barrier()

    def adds():
        for _ in range(10):
            whole[3] += 2
            before = whole.fetch_add(4, 1)
            assert 0 <= before < 30 * world.size

    shoal.gather([world.submit(adds) for _ in range(3)])
    world.barrier()
    assert list(whole[:]) == [0, 0, 0, 60 * world.size, 30 * world.size], whole[:]
    number = whole[3]
    number += 1  # a plain number: nothing is written
    assert number == 60 * world.size + 1 and whole[3] == 60 * world.size
    number -= 1
    number += 0.5  # a number of another kind
    assert number == 60 * world.size + 0.5 and type(number) is float
    world.barrier()
    whole[3] -= 2
    ga.quiet()
    world.barrier()
    assert whole[3] == 58 * world.size
    world.barrier()
    check_elements_that_travel(world, whole[3], 58 * world.size)
    check_numbers(world, ga, whole)
    whole[0] = 7
    ga[0:1] = [2.5]
    refuses(IndexError, "no element 5", whole.__getitem__, 5)
    refuses(shoal.CheckError, "with step 2", whole.__getitem__, slice(0, 4, 2))
    refuses(shoal.CheckError, "3 values for 2", ga.__setitem__, slice(0, 2), [1, 2, 3])
    refuses(shoal.CheckError, "the index is 'a'", ga.__getitem__, "a")
    refuses(shoal.CheckError, "dtype is <class 'str'>", shoal.GlobalArray, 3, str)
    return ga


def check_elements_that_travel(world, element, value):
    """What travels is a number."""
    assert world.call((world.rank + 1) % world.size, type, element).result() is int
    assert world.allgather(element) == [value] * world.size
    assert world.allreduce(element, shoal.SUM) == value * world.size
    for made in (copy.copy(element), copy.deepcopy(element), pickle.loads(pickle.dumps(element))):
        assert type(made) is int and made == value


def check_numbers(world, ga, whole):
    """None is changed on its way into an element."""
    before = list(whole[:]), ga[0]
    for array, value, kind, pattern in (
            (whole, 1.9, TypeError, "'counts' of int: 'float'.*convert"),
            (whole, "1", TypeError, "'counts' of int: 'str'"),
            (whole, 2**63, OverflowError, "'counts' of int: .*too"),
            (ga, 1j, TypeError, "'numbers' of float: 1j is no real number"),
            (ga, "1", TypeError, "'numbers' of float: .*str")):
        refuses(kind, pattern, array.__setitem__, 0, value)
        refuses(kind, pattern, array.fetch_add, 0, value)
        refuses(kind, pattern, array.__setitem__, slice(0, 2), [0, value])
    refuses(TypeError, "'float'.*convert", add_to, whole, 1.5)
    refuses(TypeError, "is no real number", add_to, ga, 1j)
    refuses(shoal.CheckError, "5 for 2 elements: give a sequence", ga.__setitem__, slice(0, 2), 5)
    square = memoryview(bytes(32)).cast("d", (2, 2))
    refuses(shoal.CheckError, "array of shape .2, 2. for 4 elements", ga.__setitem__, slice(0, 4),
            square)
    assert (list(whole[:]), ga[0]) == before
    world.barrier()
    if world.rank == 0:
        number = whole[1]
        for _ in range(3):
            number += 1
            whole[1] = number  # as a number of Python: 1, 2, 3
        assert whole[1] == 3
    world.barrier()


def add_to(array, value):
    array[0] += value


class Cell(shoal.Object):
    def __init__(self, team):
        super().__init__(team)

    def where(self):
        return shoal.current_world().rank


def check_teams(world):
    """Each model on a part of the world."""
    team = world.split(world.rank % 2, name="parity")
    ranks = list(range(world.rank % 2, world.size, 2))
    assert [one.where().result() for one in Cell(team)] == ranks
    events, arrived = shoal.Events("of a team", team), []
    events.submit([(shoal.ALL, "all")], arrived.append)
    events.fire(shoal.ALL, "all", world.rank)
    flow = shoal.Flow("of a team", team)
    places = flow.data([])
    add = flow.task(lambda places: [*places, shoal.current_world().rank], name="add",
                    places=shoal.read_write)
    for rank in range(team.size):
        add.on(rank)(places)
    assert flow.get(places) == ranks
    ran = []
    graph = shoal.TaskGraph(lambda key: ran.append((key, world.rank)), name="of a team", team=team,
                            rank=lambda key: key)
    graph.fulfill((team.rank + 1) % team.size)
    ga = shoal.GlobalArray(team.size, int, team=team)
    ga[team.rank] = world.rank
    ga.quiet()
    counter = shoal.Counter(team=team)
    counter.add()
    last = shoal.GlobalVar(world.rank, owner=team.size - 1, team=team)
    assert last.get() == ranks[-1]
    shoal.Cache(abs).collective_invalidate(team)
    with shoal.Deadline(1000, team=team):
        team.wait()
    assert list(ga[:]) == ranks and counter.value == team.size
    assert [ga.owner(index) for index in range(team.size)] == list(range(team.size))
    assert arrived == [[shoal.Event(rank, "all", there) for rank, there in enumerate(ranks)]]
    assert ran == [(team.rank, world.rank)], ran
    team.barrier()
    for bad in (0, [], "world", shoal):
        for make in (shoal.Events, shoal.Flow, lambda team: shoal.TaskGraph(print, team=team), Cell,
                     lambda team: shoal.GlobalArray(1, team=team), shoal.Counter, shoal.GlobalVar,
                     shoal.Cache(abs).collective_invalidate,
                     lambda team: shoal.Deadline(1, team=team)):
            refuses(shoal.CheckError, "is no team: give the world, or what its split", make,
                    team=bad)


def check_options(world):
    """Priorities and greedy tasks; their effect is certain where one worker runs all."""
    events, order, taken = shoal.Events("options"), [], []
    for number in (1, 3, 2):
        shoal.task(order.append, priority=number)(("task", number))
    graph = shoal.TaskGraph(lambda key: order.append(("graph", key[1])), name="options",
                            rank=lambda key: key[0], priority=lambda key: key[1])
    for number in (1, 3, 2):
        graph.fulfill((world.rank, number))
    for number in (1, 3, 2):
        events.submit([], lambda got, number=number: order.append(("event", number)),
                      priority=number)
    flow = shoal.Flow("options")
    add = flow.task(lambda x, number: order.append(("flow", number)), name="add", x=shoal.read)
    data = [[flow.data(0, owner=rank) for _ in range(3)] for rank in range(world.size)]
    for rank, mine in enumerate(data):
        for datum, number in zip(mine, (1, 3, 2)):
            add.with_options(priority=number, rank=rank)(datum, number)
    world.wait()
    for kind in ("task", "graph", "event", "flow"):
        ran = [number for name, number in order if name == kind]
        assert sorted(ran) == [1, 2, 3], order
        assert world.worker_count > 1 or ran == [3, 2, 1], order
    events.submit([(shoal.SELF, "many")], taken.append, name="greedy", persistent=1, greedy=1)
    for number in range(3):
        events.fire(shoal.SELF, "many", number)
    world.wait()
    assert events.remove("greedy")
    assert sorted(event.value for got in taken for event in got) == [0, 1, 2], taken
    assert world.worker_count > 1 or len(taken) == 1, taken
    events.fire(shoal.SELF, "again", 5, persistent=True)
    for _ in range(3):
        assert events.wait([(shoal.SELF, "again")])[0].value == 5
    here = [(shoal.SELF, "again"), (shoal.SELF, "nothing")]
    assert events.retrieve_any(here) == [shoal.Event(world.rank, "again", 5)]


def main(world):
    bank = check_objects(world)
    events = check_events(world)
    ga = check_arrays(world)
    check_teams(world)
    check_options(world)
    world.wait()
    return bank, events, ga


if __name__ == "__main__":
    signal.signal(signal.SIGHUP, lambda *_: None)  # so that shoal may not watch it
    result = shoal.run(main)
    if result is not None:
        bank, events, ga = result
        refuses(shoal.CheckError, "has ended", ga.__getitem__, 0)
        refuses(shoal.CheckError, "events .* has ended", events.fire, 0, "late")
        print("good")
