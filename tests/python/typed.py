"""What type checkers know of the package (mypy --strict)."""

import sys

import shoal
from typing import assert_type

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

assert_type(shoal.run(main, ranks=2, sim=True), int | None)
