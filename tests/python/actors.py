"""Named actors, and executors over all ranks."""

import concurrent.futures
import threading

import shoal
from support import refuses


class Account:
    def __init__(self, balance):
        self.balance = balance
        self.inside = 0

    def deposit(self, amount):
        """One call at a time, also while it waits."""
        self.inside += 1
        assert self.inside == 1
        shoal.sleep(1e-6)
        self.inside -= 1
        self.balance += amount
        return self.balance

    async def where(self):
        return shoal.current_world().rank

    def overdraw(self):
        raise ValueError("no money")

    def lock(self):
        return threading.Lock()


class Log:
    def __init__(self):
        self.lines = []

    def write(self, source, line):
        self.lines.append((source, line))

    def read(self):
        return self.lines


def deposit(account):
    """An actor can be sent."""
    return account.deposit(0).result()


def check_actors(world):
    last = world.size - 1
    if world.rank == 0:
        account = shoal.Actor.create("account", Account, 100, rank=last)
        shoal.Actor.create("log", Log)
        refuses(shoal.CheckError, "a second actor 'log': rank . has one", shoal.Actor.create,
                "log", Log)
    else:
        account = shoal.Actor("account")
    log = shoal.Actor("log")
    assert account.where().result() == last
    for name in ("balance", "deposit", "rank"):
        refuses(AttributeError, f"{name}' of <shoal actor 'account' on rank {last}> cannot be "
                "written.*method", setattr, account, name, 100)
        refuses(AttributeError, "cannot be deleted", delattr, account, name)
    shoal.gather([account.deposit(1) for _ in range(5)])
    for line in range(10):
        log.write.send(world.rank, line)
    world.barrier()
    assert world.call(last, deposit, account).result() == 100 + 5 * world.size
    lines = log.read().result()
    assert [line for line in lines if line[0] == world.rank] == [
        (world.rank, line) for line in range(10)], lines
    refuses(ValueError, "no money", account.overdraw().result)
    refuses(AttributeError, "no public method 'steal'", account.steal().result)
    refuses(shoal.CheckError, "cannot be sent.*lock", account.lock().result)
    refuses(shoal.CheckError, "cannot be sent", account.deposit, threading.Lock())
    refuses(shoal.CheckError, "give a str", shoal.Actor, 3)
    refuses(shoal.CheckError, "99 is no rank", shoal.Actor.create, "x", Log, rank=99)
    refuses(shoal.CheckError, "cannot be called", shoal.Actor.create, "x", 3)
    world.barrier()


def square(x):
    shoal.sleep(1e-6)
    return x * x


def fail():
    raise LookupError("nothing")


def check_waits_of_the_library(executor):
    """They park the task, which may have the only worker, and end by futures of anybody."""
    futures = [executor.submit(square, x) for x in range(20)]
    assert concurrent.futures.wait(futures) == (set(futures), set())
    assert concurrent.futures.wait(futures, 1) == (set(futures), set())
    ended = futures[0]
    futures = [executor.submit(square, x) for x in range(20)]
    arrivals = concurrent.futures.as_completed(futures)
    assert sorted(future.result() for future in arrivals) == [x * x for x in range(20)]
    other = concurrent.futures.Future()
    for timeout in (-1, 1e-6):
        assert concurrent.futures.wait([ended, other], timeout) == ({ended}, {other})
        refuses(concurrent.futures.TimeoutError, "unfinished",
                lambda: list(concurrent.futures.as_completed([ended, other], timeout)))
    failed = executor.submit(fail)
    done, _ = concurrent.futures.wait([failed, other], return_when="FIRST_EXCEPTION")
    assert done == {failed}
    if shoal.current_world().launch == "simulated":  # without threads
        shoal.Timer(0.01, other.set_result, 3)
    else:
        threading.Timer(0.01, other.set_result, [3]).start()
    assert set(concurrent.futures.as_completed([failed, other])) == {failed, other}


def check_executors(world):
    with shoal.WorldExecutor() as executor:
        assert list(executor.map(square, range(10))) == [x * x for x in range(10)]
        future = executor.submit(fail)
        refuses(LookupError, "nothing", future.result)
        assert isinstance(future.exception(), LookupError)
        assert isinstance(future, concurrent.futures.Future)
        futures = [executor.submit(square, x) for x in range(4)]
        assert shoal.wait(futures) == (set(futures), set())
        assert all(future.done() for future in futures)
        assert shoal.gather(futures) == [0, 1, 4, 9]
        # As Executor.map() asks when its time is over.
        assert futures[2].result(-1) == 4 and futures[2].exception(-1) is None
        assert {future.result() for future in shoal.as_completed(futures)} == {0, 1, 4, 9}
        check_waits_of_the_library(executor)
        future = executor.submit(fail)
        assert shoal.wait([future], return_when=shoal.FIRST_EXCEPTION) == ({future}, set())
        executor.submit(square, 3)
    refuses(RuntimeError, "after shutdown", executor.submit, square, 1)
    assert shoal.dask_get is not None


def main(world):
    check_actors(world)
    check_executors(world)
    return True


if __name__ == "__main__":
    if shoal.run(main) is not None:
        print("good")
