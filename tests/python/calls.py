"""Calls and messages between ranks."""

import array
import operator

import shoal

heard = {}


class Refused(Exception):
    def __init__(self, who, code):
        super().__init__(who, code)
        self.who = who
        self.code = code


def where(offset=0):
    return shoal.current_world().rank + offset


def fail(code):
    raise Refused(f"rank {where()}", code)


class Unsendable(Exception):
    def __init__(self):
        super().__init__("never")
        self.lock = lambda: None


def fail_unsendably():
    raise Unsendable()


def doubled(numbers):
    return array.array("d", (2 * number for number in numbers))


def given(value):
    return value


def fill(view):
    """The receiver's copy can be written."""
    view = memoryview(view).cast("B")
    view[0] = 7
    return view[0]


def hear(sender, number):
    heard.setdefault((where(), sender), []).append(number)


@shoal.task
def distant(x):
    shoal.sleep(1e-6)
    return x + where()


@shoal.task
async def distant_coroutine(x):
    return await distant(x)


def call_back(rank):
    """A call within a call, which waits."""
    return shoal.current_world().call(rank, where, offset=100).result()


def main(world):
    me, size = world.rank, world.size
    next_rank = (me + 1) % size
    assert world.call(next_rank, where, offset=10).result() == next_rank + 10
    assert world.call(next_rank, call_back, me).result() == me + 100
    assert distant.on(next_rank)(5).result() == next_rank + 5
    assert distant_coroutine.on(next_rank)(5).result() == next_rank + 5
    assert distant.on(next_rank)(distant(0)).result() == me + next_rank
    assert shoal.gather(distant.on(next_rank).map([1, 2])) == [1 + next_rank, 2 + next_rank]

    try:
        world.call(next_rank, fail, 3).result()
        raise AssertionError("no exception")
    except Refused as error:
        assert (error.who, error.code) == (f"rank {next_rank}", 3)
        assert "in fail" in str(error.__cause__), error.__cause__
        assert f"on rank {next_rank}" in str(error.__cause__)
    try:
        world.call(next_rank, fail_unsendably).result()
        raise AssertionError("no exception")
    except shoal.RemoteError as error:
        assert "Unsendable" in str(error) and "never" in str(error), error

    numbers = array.array("d", range(10000))
    assert world.call(next_rank, doubled, numbers).result() == doubled(numbers)
    for view in (memoryview(numbers), memoryview(numbers).cast("B").cast("d", (100, 100)),
                 memoryview(numbers)[::2], memoryview(b"")):
        back = world.call(next_rank, given, view).result()
        assert type(back) is memoryview and back.tolist() == view.tolist()
    block = bytearray(1 << 20)
    assert world.call(next_rank, fill, block).result() == 7
    assert block[0] == 0

    world.barrier()
    for number in range(100):
        world.send(next_rank, hear, me, number)
    world.send_task(next_rank, hear, "task", me)
    world.wait()
    sender = (me - 1) % size
    assert heard[me, sender] == list(range(100)), heard
    assert heard[me, "task"] == [sender]

    assert world.allgather({"rank": me}) == [{"rank": rank} for rank in range(size)]
    assert world.gather(me, root=0) == (list(range(size)) if me == 0 else None)
    assert world.broadcast([me], root=size - 1) == [size - 1]
    assert world.allreduce(f"{me}.", operator.add) == "".join(f"{rank}." for rank in range(size))
    return size


if __name__ == "__main__":
    result = shoal.run(main)
    if result is not None:
        print("good", result)
