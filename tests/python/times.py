"""Timers, deadlines, counters, caches and variables of one rank."""

import shoal
from support import refuses

fetches = {}


def check_timers(world):
    ran = []
    timer = shoal.Timer(1e-5, ran.append, 1)
    never = shoal.Timer(1000.0, ran.append, 2)
    assert never.cancel() and not never.cancel()
    assert never.future.result() is None
    timer.future.result()
    assert not timer.cancel()
    assert shoal.Timer(0, abs, -3).future.result() == 3
    world.wait()
    assert ran == [1], ran
    refuses(shoal.CheckError, "time of -1 seconds", shoal.Timer, -1, print)
    refuses(shoal.CheckError, "cannot be called", shoal.Timer, 1, None)
    refuses(shoal.CheckError, "time of inf seconds never ends", shoal.Timer, float("inf"), print)


def naps(seconds):
    shoal.sleep(seconds)
    return seconds


def check_timeouts(world):
    """Of several futures at once: those that are there count, and the others can still come."""
    late = shoal.Promise("late")
    ready = [world.submit(abs, -number) for number in range(3)]
    assert shoal.gather(ready, timeout=1000) == [0, 1, 2]
    assert set(shoal.as_completed(ready, 1000)) == set(ready)
    waiting, arrived = [*ready, late.future], []
    refuses(TimeoutError, "gather..: 1 of 4 futures have no value after 0.002 seconds",
            shoal.gather, waiting, 0.002)
    refuses(TimeoutError, "as_completed..: 1 of 4 futures have no value after 0.002 seconds",
            lambda: arrived.extend(shoal.as_completed(waiting, timeout=0.002)))
    assert shoal.wait(waiting, timeout=0.002) == (set(ready), {late.future})
    refuses(TimeoutError, "no value after 0.002 seconds", late.future.result, 0.002)
    late.set_exception(TimeoutError("of the task"))
    refuses(TimeoutError, "of the task", shoal.gather, waiting, 1000)
    assert shoal.wait(waiting, timeout=1000) == (set(waiting), set())
    for call in (shoal.gather, shoal.as_completed, shoal.wait):
        refuses(shoal.CheckError, rf"shoal.{call.__name__}\(timeout=\): a time of -1 seconds",
                call, ready, -1)
        refuses(shoal.CheckError, "a time of 'soon' seconds", call, ready, "soon")
    if world.launch == "simulated":
        check_virtual_timeouts(world)


def check_virtual_timeouts(world):
    """They begin with the call, and end at one time, whatever the seed."""
    futures = [world.submit(naps, 300 * number / 1000) for number in (4, 2, 3, 1, 5)]
    begin = world.now()

    def passed():
        return round(100 * (world.now() - begin))  # in 10 ms: a task may begin a bit later

    arrived = []
    arrivals = shoal.as_completed(futures, timeout=1)
    shoal.sleep(0.5)
    refuses(TimeoutError, "2 of 5 futures have no value after 1 seconds",
            lambda: arrived.extend((future.result(), passed()) for future in arrivals))
    assert arrived == [(0.3, 50), (0.6, 60), (0.9, 90)] and passed() == 100, arrived
    assert len(shoal.wait(futures, timeout=0.1)[0]) == 3 and passed() == 110
    assert len(shoal.wait(futures, 1, shoal.FIRST_COMPLETED)[0]) == 3 and passed() == 110
    refuses(TimeoutError, "1 of 5 futures", shoal.gather, futures, 0.35)
    assert passed() == 145
    refuses(TimeoutError, "0.02 seconds", futures[-1].result, 0.02)
    assert passed() == 147
    assert shoal.gather(futures, timeout=5) == [1.2, 0.6, 0.9, 0.3, 1.5] and passed() == 150


def check_deadlines(world):
    with shoal.Deadline(1000.0):
        shoal.gather([world.submit(abs, -1)])
    with shoal.Deadline(500, "too slow", team=world), shoal.Deadline(float("inf")):
        pass
    refuses(shoal.CheckError, "time of nan seconds", shoal.Deadline, float("nan"))
    assert not world.is_cancelled


def check_counters(world):
    tickets = shoal.Counter("tickets")

    def take():
        return [tickets.add() for _ in range(5)]

    mine = sum(shoal.gather([world.submit(take) for _ in range(3)]), [])
    every = sorted(sum(world.allgather(mine), []))
    assert every == list(range(15 * world.size)), every
    assert tickets.value == 15 * world.size


def look_up(key):
    me = shoal.current_world().rank
    fetches[key, me] = fetches.get((key, me), 0) + 1
    if key == "bad":
        raise LookupError("no such key")
    shoal.sleep(1e-6)
    return f"{key} of {me}"


def check_caches(world):
    there = (world.rank + 1) % world.size
    cache = shoal.Cache(lambda key: world.call(there, look_up, (key, world.rank)), items_max=2)
    texts = shoal.gather([world.submit(cache.get, "x") for _ in range(5)])
    assert texts == [f"{('x', world.rank)} of {there}"] * 5
    assert (cache.hits, cache.misses) == (4, 1)
    cache.get("y")
    cache.get("x")
    cache.get("z")  # "y" goes
    assert len(cache) == 2
    cache.get("x")
    assert cache.misses == 3
    cache.invalidate("x")
    cache.get("x")
    assert cache.misses == 4
    cache.collective_invalidate()
    assert len(cache) == 0
    bad = shoal.Cache(look_up)
    refuses(LookupError, "no such key", bad.get, "bad")
    refuses(LookupError, "no such key", bad.get, "bad")
    assert bad.misses == 2
    refuses(shoal.CheckError, "items_max: 0 is no number", shoal.Cache, look_up, items_max=0)


def check_variables(world):
    last = world.size - 1
    step = shoal.GlobalVar({"step": 0} if world.rank == last else None, owner=last)
    assert step.get() == {"step": 0}
    world.barrier()
    if world.rank == last:
        step.set({"step": 1})
    else:
        assert step.get() == {"step": 0}
        refuses(shoal.CheckError, "only its owner writes it", step.set, 1)
    world.barrier()
    step.refresh()
    assert step.get() == {"step": 1}
    world.barrier()


def main(world):
    check_timers(world)
    check_timeouts(world)
    check_deadlines(world)
    check_counters(world)
    check_caches(world)
    check_variables(world)
    return True


if __name__ == "__main__":
    if shoal.run(main) is not None:
        print("good")
