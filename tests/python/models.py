"""Events, distributed objects and global arrays."""

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
    refuses(shoal.CheckError, "no rank 99", bank.__getitem__, 99)
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
    refuses(shoal.CheckError, "no pair", events.wait, ["name"])
    refuses(shoal.CheckError, "cannot be sent", events.fire, shoal.SELF, "f", threading.Lock())
    return events


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
    world.barrier()
    whole[0] = 7
    ga[0:1] = [2.5]
    refuses(IndexError, "no element 5", whole.__getitem__, 5)
    refuses(shoal.CheckError, "with step 2", whole.__getitem__, slice(0, 4, 2))
    refuses(shoal.CheckError, "3 values for 2", ga.__setitem__, slice(0, 2), [1, 2, 3])
    refuses(shoal.CheckError, "the index is 'a'", ga.__getitem__, "a")
    refuses(shoal.CheckError, "dtype is <class 'str'>", shoal.GlobalArray, 3, str)
    return ga


def main(world):
    bank = check_objects(world)
    events = check_events(world)
    ga = check_arrays(world)
    world.wait()
    return bank, events, ga


if __name__ == "__main__":
    result = shoal.run(main)
    if result is not None:
        bank, events, ga = result
        refuses(shoal.CheckError, "has ended", ga.__getitem__, 0)
        refuses(shoal.CheckError, "have ended", events.fire, 0, "late")
        print("good")
