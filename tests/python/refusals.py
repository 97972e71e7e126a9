"""Wrong calls: each is a Python exception that says what, where, and what to do."""

import functools
import threading

import shoal
from support import refuses


def local():
    return 1


def waits():
    """As a handler it must not wait."""
    shoal.sleep(1e-6)


def unsendable():
    return threading.Lock()


def yields(*arguments):
    """Nothing of it would run: no call takes it."""
    yield arguments


async def ayields(*arguments):
    yield arguments


async def awaits(*arguments):
    """Runs where a task awaits it."""
    await shoal.current_world().submit(local)
    awaited.append(shoal.current_world().rank)
    return len(arguments)


awaited = []  # ranks


class Many(shoal.Object):
    def yields(self):
        yield 1


def check_functions(world):
    events, flow, never = shoal.Events(), shoal.Flow(), (shoal.SELF, "never")
    for bad in (yields, ayields, Many.yields):
        for name, take in {
                "submit..": world.submit, "spawn..": world.spawn, "shoal.Timer": one_of(0.0),
                "Events.submit..": lambda f: events.submit([never], f), "shoal.Cache": shoal.Cache,
                "task graph 'graph': task": shoal.TaskGraph, "shoal.task": shoal.task,
                "task graph 'graph': rank": lambda f: shoal.TaskGraph(print, rank=f),
                "task graph 'graph': priority": lambda f: shoal.TaskGraph(print, priority=f),
                "task graph 'graph': indegree": lambda f: shoal.TaskGraph(print, f),
                "shoal.flow_task": lambda f: shoal.flow_task(f, arguments=shoal.read),
                "flow.task|shoal.flow_task": lambda f: flow.task(f, arguments=shoal.read),
                "add_done_callback..": world.submit(local).add_done_callback,
                "allreduce..": lambda f: world.allreduce(1, f)}.items():
            refuses(shoal.CheckError, f"({name}): .*yields is a generator: .*yield", take, bad)
    for take in (lambda f: shoal.TaskGraph(print, rank=f), lambda f: world.allreduce(1, f)):
        refuses(shoal.CheckError, "awaits is `async def`, and nobody awaits it", take, awaits)
    # Functions that hide it.
    for future in (world.submit(lambda: yields()), shoal.task(lambda: yields())(),
                   shoal.Timer(0, lambda: yields()).future, Many()[world.rank].yields(),
                   world.call(world.rank, shoal.task(functools.partial(yields, 1)))):
        refuses(shoal.CheckError, "is a generator: .*nothing of it has run", future.result)
    refuses(shoal.CheckError, "is a generator", shoal.Cache(lambda key: yields()).get, 1)
    world.submit(local).add_done_callback(awaits)
    assert shoal.Timer(0, awaits, 1).future.result() == 1
    assert shoal.Cache(awaits).get(1) == 1
    events.submit([], awaits)
    world.spawn(awaits)
    world.wait()
    assert awaited.count(world.rank) == 5, awaited


def check_names(world):
    """Names, numbers and times, wherever they are given."""
    events, flow, print_it = shoal.Events(), shoal.Flow(), {"function": print}
    for make, keywords in ((shoal.Events, {}), (shoal.Flow, {}), (shoal.Mutex, {}),
                           (shoal.Promise, {}), (shoal.Semaphore, {"permits": 1}),
                           (shoal.GlobalArray, {"size": 3}), (shoal.TaskGraph, {"task": print}),
                           (shoal.task, print_it), (shoal.flow_task, print_it),
                           (flow.data, {"value": 1}), (shoal.task(print).with_options, {}),
                           (shoal.flow_task(print).with_options, {}),
                           (events.submit, {"dependencies": [], "function": print})):
        refuses(shoal.CheckError, "name is 5: give a str", make, **keywords, name=5)
    for make, keywords in ((shoal.task, print_it), (shoal.flow_task, print_it),
                           (shoal.flow_task(print).with_options, {}),
                           (shoal.task(print).with_options, {}),
                           (events.submit, {"dependencies": [], "function": print})):
        for bad in (10**12, 1.5, "high"):
            refuses(shoal.CheckError, f"{bad!r} is no priority: give", make, **keywords,
                    priority=bad)
    for bad in ("x", -1, None, 2**64):
        refuses(shoal.CheckError, f"Events.cancel..: {bad!r} is no number", events.cancel, bad)
        refuses(shoal.CheckError, f"{bad!r} is no number of permits", shoal.Semaphore, bad)
    refuses(shoal.CheckError, "the task's name is 5", events.remove, 5)
    refuses(shoal.CheckError, "the task's name is 5", events.is_submitted, 5)
    refuses(shoal.CheckError, "shoal.sleep..: a time of 'x' seconds", shoal.sleep, "x")
    refuses(shoal.CheckError, "shoal.Timer: a time of None seconds", shoal.Timer, None, print)


def check_arguments(world):
    """Types and ranges: none is refused by the extension module, whose texts name no parameter."""
    events, future, half = shoal.Events(), world.submit(local), "\ud800"
    for text, call in {
            "split..: 'a' is no colour": lambda: world.split("a"),
            "split..: 1099511627776 is no colour": lambda: world.split(2**40),
            "split..: 'x' is no key": lambda: world.split(0, key="x"),
            "split..: its name is 5": lambda: world.split(0, name=5),
            "cancel..: the reason is 5: give a str": lambda: world.cancel(5),
            "result.timeout=.: a time of 'x' seconds": lambda: future.result("x"),
            "exception.timeout=.: a time of 'x' seconds": lambda: future.exception("x"),
            "wait.timeout=.: a time of 'x' seconds": lambda: shoal.wait([future], timeout="x"),
            "a time of 1000+ seconds": lambda: future.result(10**400),
            "shoal.Deadline: the reason is 5": lambda: shoal.Deadline(1, 5),
            "2147483648 is no rank: give": lambda: events.fire(2**31, "x"),
            "1099511627776 is no number of retries": lambda: shoal.flow_task(print, retries=2**40),
            "'flow': tasks_max: 1.* is no number": lambda: shoal.Flow(tasks_max=2**70),
            "its size: 1.* is no number of elements": lambda: shoal.GlobalArray(2**70),
            "shoal.wait..: 1 is no future": lambda: shoal.wait([1]),
            "shoal.as_completed..: 1 is no future": lambda: shoal.as_completed([1]),
            "shoal.gather..: 1 is no future": lambda: shoal.gather([1]),
            "shoal.gather..: 5 is no list of futures": lambda: shoal.gather(5),
            "shoal.Mutex: its name is .*surrogate": lambda: shoal.Mutex(half),
            "its name is .*surrogate": lambda: events.fire(shoal.SELF, half),
            "the reason is .*surrogate": lambda: world.cancel(half)}.items():
        refuses(shoal.CheckError, text, call)
    refuses(LookupError, "none", lambda: shoal.gather(find(item) for item in [1]))


def find(item):
    raise LookupError("none")


def one_of(seconds):
    return lambda function: shoal.Timer(seconds, function)


class Hasty(shoal.Object):
    def __init__(self):
        self.balance = 0


def main(world):
    other = (world.rank + 1) % world.size
    refuses(shoal.CheckError, "a call of local: 99 is no rank: there are", world.call, 99, local)
    refuses(shoal.CheckError, "-1 is no rank", world.send, -1, local)
    refuses(shoal.CheckError, "'a' is no rank", world.call, "a", local)
    refuses(shoal.CheckError, "cannot be called", world.submit, 3)
    refuses(shoal.CheckError, "cannot be called", world.send, 0, None)
    refuses(shoal.CheckError, "argument of a call of local cannot be sent.*lock", world.call, other,
            local, threading.Lock())
    refuses(shoal.CheckError, "result of unsendable cannot be sent", world.call(
        other, unsendable).result)
    refuses(shoal.CheckError, "Hasty.__init__.. has not called super", Hasty().__getitem__, 0)
    assert shoal.task(local).on(other)().result() == 1
    refuses(TypeError, "World belongs to its rank", world.__reduce_ex__, 5)
    for own in (shoal.GlobalArray(world.size), shoal.Cache(local), shoal.Counter(), shoal.Flow(),
                shoal.TaskGraph(local), shoal.Events(), shoal.Mutex(), shoal.Semaphore(1),
                shoal.Promise(), shoal.GlobalVar(1)):
        refuses(shoal.CheckError, f"a {type(own).__name__} belongs to its rank and is not sent: "
                "use that of the rank where the function runs$", world.call, other, local, own)
    refuses(shoal.CheckError, "seconds: give a number", shoal.sleep, -1)
    refuses(shoal.CheckError, "got return_when", shoal.wait, [], return_when="never")
    refuses(shoal.CheckError, "takes an exception", shoal.Promise().set_exception, "text")
    refuses(shoal.ConfigError, "inside a run", shoal.run, main)
    promise = shoal.Promise("twice")
    promise.set_result(1)
    refuses(shoal.CheckError, "fulfilled already", promise.set_result, 2)
    mutex = shoal.Mutex("mine")
    refuses(shoal.CheckError, "mine.*does not hold it .a coroutine that has", mutex.unlock)
    with mutex:
        refuses(shoal.CheckError, "mine", mutex.lock)
    check_functions(world)
    check_names(world)
    check_arguments(world)
    future = world.submit(local)
    assert future.result() == 1
    refuses(TypeError, "belongs to its rank", future.__reduce_ex__, 5)
    world.wait()
    return world, future


if __name__ == "__main__":
    refuses(shoal.CheckError, "no world here", shoal.current_world)
    refuses(shoal.CheckError, "takes a function of a world", shoal.run, 3)
    refuses(shoal.ConfigError, "no option 'worker'.*mean 'workers'", shoal.run, main, worker=4)
    refuses(shoal.ConfigError, "^shoal.run.sim_seed=.: 'two'", shoal.run, main, args=[],
            sim_seed="two")
    refuses(shoal.ConfigError, "^shoal.run.sim_seed=.: 'two'", shoal.run, main, args=[],
            sim_seed="two", sim=True)
    refuses(shoal.ConfigError, "^shoal.run.workers=.: 0 is out of range", shoal.run, main, args=[],
            workers=0)
    refuses(shoal.CheckError, "no world here", shoal.task(local))
    refuses(shoal.CheckError, "shoal.task: 3 cannot be called", shoal.task, 3)
    result = shoal.run(main)
    if result is not None:
        world, future = result
        refuses(shoal.CheckError, "run of this world has ended", world.barrier)
        assert future.result() == 1
        assert "ended" in repr(world)
        print("good")
