"""What type checkers know of the package (mypy --strict, pyright): each public name once, at least.
Nothing of it runs."""

import concurrent.futures
import sys

import shoal
from typing import Any, Literal, assert_type

@shoal.task
def square(x: int) -> int:
    return x * x

@shoal.task(retries=2)
def text(x: int) -> str:
    return str(x)

@shoal.task
async def both(x: int) -> int:
    return await square(x)

@shoal.flow_task(a=shoal.read, b=shoal.read_write)
def axpy(a: float, b: float, factor: float) -> float:
    return b + factor * a

class Bank(shoal.Object):
    def deposit(self, x: int) -> int:
        return x

def main(world: shoal.World) -> int:
    assert_type(square(3), shoal.Future[int])
    assert_type(square.on(1)(2).result(), int)
    assert_type(both(1).result(), int)
    assert_type(world.submit(len, "x").result(), int)
    assert_type(world.call(0, str, 3).result(), str)
    assert_type(shoal.gather([square(1)]), list[int])
    assert_type(world.allgather(1.5), list[float])
    assert_type(text.map([1]), list[shoal.Future[str]])
    graph: shoal.TaskGraph[tuple[int, int]] = shoal.TaskGraph(lambda key: None, 2,
                                                              rank=lambda key: key[0])
    graph.fulfill((1, 2))
    graph.send((1, 2), left=3)
    flow = shoal.Flow()
    axpy(flow.data(1.0), flow.data(2.0), factor=3)
    assert_type(shoal.Timer(1.0, str, 3).future.result(), str | None)
    def find(key: str) -> shoal.Future[int]:
        return world.call(0, len, key)
    assert_type(shoal.Cache(find).get("x"), int)
    assert_type(shoal.Counter().add(), int)
    events = shoal.Events()
    events.fire(shoal.ALL, "x", 3)
    assert_type(events.fire_when_readable(sys.stdin, shoal.SELF, "input"), int)
    with events.locked("x"):
        events.fire_object("x", [3])
    ga = shoal.GlobalArray(3)
    ga[0:2] = [1.0, 2.0]
    ga[1] += 2
    with shoal.Mutex("m"), shoal.Semaphore(1):
        pass
    return world.rank

def waits(world: shoal.World) -> None:
    futures = [square(1), square(2)]
    assert_type(shoal.gather(futures, timeout=1.0), list[int])
    for future in shoal.as_completed(futures, timeout=1):
        assert_type(future, shoal.Future[int])
    for when in (shoal.ALL_COMPLETED, shoal.FIRST_COMPLETED, shoal.FIRST_EXCEPTION):
        done, others = shoal.wait(futures, 0.5, when)
        assert_type(done | others, set[shoal.Future[int]])
    assert_type(futures[0].result(timeout=2), int)
    assert_type(futures[0].exception(), Exception | None)
    promise: shoal.Promise[str] = shoal.Promise("an answer")
    promise.set_result("yes")
    promise.set_exception(ValueError())
    assert_type(promise.future.result(), str)
    thread: concurrent.futures.Future[float] = concurrent.futures.Future()
    assert_type(shoal.wrap_future(thread, "a thread"), shoal.Future[float])
    shoal.sleep(0.1)
    shoal.yield_now()
    with shoal.Deadline(5.0, "too slow", team=world):
        assert_type(shoal.current_world(), shoal.World)

def fails(world: shoal.World) -> list[shoal.Error]:
    try:
        world.wait()
    except shoal.TaskError as error:
        assert_type((error.rank, error.task, error.text), tuple[int, str, str])
        if isinstance(error.__cause__, shoal.RemoteTraceback):
            assert_type((error.__cause__.rank, error.__cause__.text), tuple[int, str])
    except shoal.RetryError as retry:
        assert_type((retry.attempts, retry.last), tuple[int, BaseException])
    except shoal.CancelledError as cancelled:
        assert_type(cancelled, shoal.CancelledError)
        not_an_error: BaseException = cancelled
        raise not_an_error
    decode: shoal.TransportError = shoal.DecodeError()
    return [decode, shoal.BrokenPromise(), shoal.CheckError(), shoal.ConfigError(),
            shoal.RemoteError(), shoal.StuckError()]

def collective(team: shoal.Team) -> None:
    assert_type(team.split(team.rank % 2), shoal.Team)
    assert_type(team.allreduce(1, shoal.SUM), int)
    assert_type(team.allreduce(1.5, shoal.PRODUCT), float)
    assert_type(team.reduce(1, shoal.MIN), int | None)
    assert_type(team.scan(1, shoal.MAX), int)
    assert_type(team.alltoall([1, 2]), list[int])
    assert_type(team.gather("x"), list[str] | None)
    counts: shoal.GlobalVar[dict[str, int]] = shoal.GlobalVar({"x": 1}, owner=0, team=team)
    assert_type(counts.get(), dict[str, int])

class Account:
    def deposit(self, x: int) -> int:
        return x

def models(flow: shoal.Flow, events: shoal.Events) -> None:
    @flow.task(a=shoal.write, b=shoal.commutative, c=shoal.scratch)
    def mixes(a: object, b: float, c: object) -> float:
        return b
    datum = flow.data(1.0)
    assert_type(datum, shoal.Datum)
    mixes(datum, datum, datum)
    assert_type(flow.tiles([[1.0]], (1, 1)), shoal.Tiles)
    assert_type(shoal.Actor.create("bank", Account), shoal.Actor)
    assert_type(shoal.ANY, Literal["any"])
    def takes(got: list[shoal.Event]) -> None:
        assert_type(got[0].value, Any)
    events.submit([(shoal.ANY, "x"), (shoal.SELF, "y")], takes)
    assert_type(events.wait_any([(shoal.ALL, "x")]), shoal.Event)

def others() -> None:
    with shoal.Runtime(ranks=1, workers=2) as runtime:
        assert_type(runtime.submit(len, "x"), shoal.Future[int])
    with shoal.Executor(workers=2) as executor:
        assert_type(executor.submit(len, "x"), concurrent.futures.Future[int])
    with shoal.WorldExecutor() as everywhere:
        assert_type(list(everywhere.map(str, [1])), list[str])
    shoal.dask_get({}, [], workers=2)
    shoal.register_joblib()
    assert_type(shoal.TraceReport("run.trace").page, str)
    known: shoal.Task[[int], int] = square
    assert_type(known(1), shoal.Future[int])

assert_type(shoal.run(main, ranks=2, sim=True), int | None)
