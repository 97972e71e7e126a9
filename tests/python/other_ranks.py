"""Objects of a rank that another rank of the process uses, as global variables let it: each use is
refused, and says whose object it is."""

import shoal
from support import refuses

theirs = {}  # objects of rank 0, by their names in errors


class Bank(shoal.Object):
    def deposit(self):
        return 1


@shoal.flow_task(value=shoal.read_write)
def increase(value):
    return value + 1


def uses_of(objects):
    """What a program does with each of them, by the name of the object."""
    bank, graph, data, events, counter, variable = (
        objects[name] for name in ("a distributed object", "task graph 'g'", "flow 'f'",
                                   "the object of events 'e'", "global array 'c'", "variable"))
    array, mutex, semaphore, promise, timer, world, team = (
        objects[name] for name in ("global array 'a'", "mutex 'm'", "semaphore 's'", "promise 'p'",
                                   "promise 'a timer'", "a world", "a team"))
    with_inputs = objects["task graph 'i'"]
    return [
        ("a distributed object", bank[0].deposit), ("a distributed object", bank[0].deposit.send),
        ("a distributed object", bank.fence),
        ("task graph 'g'", lambda: graph.fulfill(1)),
        ("task graph 'i'", lambda: with_inputs.send(1, value=2)),
        ("flow 'f'", lambda: increase(data)), ("flow 'f'", data.get),
        ("flow 'f'", lambda: data._flow.data(1)), ("flow 'f'", data._flow.wait),
        ("the object of events 'e'", lambda: events.fire(0, "x")),
        ("the object of events 'e'", lambda: events.submit([], print)),
        ("the object of events 'e'", lambda: events.fire_after(0.0, 0, "x")),
        ("the object of events 'e'", lambda: events.lock("x")),
        ("global array 'c'", counter.add), ("a world", variable.get),
        ("global array 'a'", lambda: array[0]), ("global array 'a'", array.quiet),
        ("mutex 'm'", mutex.lock), ("mutex 'm'", mutex.try_lock),
        ("semaphore 's'", semaphore.acquire), ("semaphore 's'", semaphore.release),
        ("promise 'p'", lambda: promise.set_result(1)),
        ("promise 'p'", lambda: promise.set_exception(ValueError())),
        ("promise 'a timer'", timer.cancel),
        *((name, lambda own=own, call=call: call(own))
          for name, own in (("a world", world), ("a team", team))
          for call in (lambda own: own.rank, lambda own: own.submit(print),
                       lambda own: own.spawn(print), lambda own: own.call(0, print),
                       lambda own: own.send(0, print), lambda own: own.send_task(0, print),
                       lambda own: own.wait(), lambda own: own.barrier(),
                       lambda own: own.allreduce(1, shoal.SUM), lambda own: own.split(0),
                       lambda own: shoal.TaskGraph(print, team=own)))]


def use_them(where, there):
    for name, use in uses_of(theirs):
        refuses(shoal.CheckError, f"^{name} belongs to rank 0, and was used on rank {where}: use "
                "that of the rank where the function runs[.].*dict by world.rank$", use)
    used.append((where, there))


used = []  # ranks, and what used the objects there


def main(world):
    flow, team = shoal.Flow("f"), world.split(0, name="t")
    own = {"a distributed object": Bank(), "task graph 'g'": shoal.TaskGraph(print, name="g"),
           "task graph 'i'": shoal.TaskGraph(lambda key, value: None, name="i"),
           "flow 'f'": flow.data(1, owner=0), "the object of events 'e'": shoal.Events("e"),
           "global array 'c'": shoal.Counter("c"), "variable": shoal.GlobalVar(1),
           "global array 'a'": shoal.GlobalArray(2, name="a"), "mutex 'm'": shoal.Mutex("m"),
           "semaphore 's'": shoal.Semaphore(1, "s"), "promise 'p'": shoal.Promise("p"),
           "promise 'a timer'": shoal.Timer(0.05, int), "a world": world, "a team": team}
    if world.rank == 0:
        theirs.update(own)
    world.barrier()
    if world.rank > 0:
        assert theirs["a world"].size == world.size and "rank 0 of" in repr(theirs["a world"])
        use_them(world.rank, "the main function")
        world.submit(use_them, world.rank, "a task").result()
    else:
        for rank in range(1, world.size):
            world.call(rank, use_them, rank, "a call").result()
    own["promise 'p'"].set_result(1)
    world.wait()
    return world.size


if __name__ == "__main__":
    size = shoal.run(main)
    assert len(used) == 3 * (size - 1) > 0, used
    print("good")
