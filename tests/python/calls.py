"""Calls and messages between ranks."""

import array
import contextvars
import enum
import inspect
import math
import operator

import shoal
from shoal import _core, _wire

heard = {}
seen = contextvars.ContextVar("what a call has seen", default=0)


class Colour(enum.IntEnum):
    RED = 1


class Places:
    @staticmethod
    def inner(x):
        return x, "inner"


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


def kinds(*values):
    """Types are those of the caller."""
    return [(type(value).__name__, value) for value in values]


def count_in_context():
    """Each call has a context of its own."""
    seen.set(seen.get() + 1)
    return seen.get()


def callers(*values):
    """Names of the functions of Python that have called this one."""
    frame = inspect.currentframe().f_back
    names = []
    while frame is not None:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    return " ".join(names)


async def awaiting(x):
    return await distant(x)


def generating(x):
    yield x


def replaced(x):
    raise AssertionError("it is a task there")


def replace():
    global replaced
    replaced = distant


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


def check_memory(world, next_rank):
    """Large objects of bytes arrive as they are. A memoryview travels beside the pickle, without a
    copy of its own if it is read-only; the others are part of it."""
    for size in (0, 100, 1 << 14, 300_000):
        text = bytes(range(256)) * (size // 256 + 1)
        numbers = array.array("H", text[:size])
        for value in (text[:size], bytearray(text[:size]), numbers):
            for sent in (value, [value, value], {"key": value}):
                back = world.call(next_rank, given, sent).result()
                assert back == sent and type(back) is type(sent)
                body, buffers = _wire.dump(sent)
                assert size <= len(body) < size + 200 and not buffers
            if isinstance(value, bytearray) and size:
                back = world.call(next_rank, given, value).result()
                back[0] ^= 1  # memory of its own
                assert back != value
        if size:
            views = [memoryview(text[:size]), memoryview(bytearray(text[:size]))]
            body, buffers = _wire.dump(views)
            assert len(body) < 200 and [buffer.nbytes for buffer in buffers] == [size, size]
            assert list(map(_wire.is_constant, buffers)) == [True, False]
            back = world.call(next_rank, given, views).result()
            assert back == views and [view.readonly for view in back] == [True, False]


def check_plain_calls(world, me, size, next_rank):
    """Calls with numbers and short texts, and those that only look like such ones."""
    plain = [None, True, False, 0, -1, 2**63 - 1, -2**63, 1.5, -0.0, math.inf, 2 - 3j, "", "x",
             "\u00fc\U0001f41f", "\0", b"", b"\x80\0"]
    others = [2**63, -2**63 - 1, 10**400, "\ud800", "x" * 1025, b"x" * 1025, "\u00fc" * 600,
              Colour.RED, (1, 2), [None], {}]
    for value in plain + others:
        back = world.call(next_rank, given, value).result()
        assert type(back) is type(value) and repr(back) == repr(value), (value, back)
        assert world.call(next_rank, kinds, value, 1).result() == kinds(value, 1)
    assert math.isnan(world.call(next_rank, given, math.nan).result())
    for count in (1, 12, 13, 50, 600):
        assert world.call(next_rank, kinds, *range(count)).result() == kinds(*range(count))
    assert world.call(next_rank, kinds, *["x" * 200] * 6).result() == kinds(*["x" * 200] * 6)
    assert [world.call(next_rank, count_in_context).result() for _ in range(3)] == [1, 1, 1]
    assert seen.get() == 0
    assert world.call(next_rank, callers, 1).result() == ""
    assert "_serve" in world.call(next_rank, callers, [1]).result()
    assert world.call(next_rank, Places.inner, 3).result() == (3, "inner")
    assert world.call(next_rank, awaiting, 5).result() == 5 + next_rank
    for wrong, text in ((generating, "yield"), (given, "positional argument")):
        try:
            world.call(next_rank, wrong, *[1] * (1 if wrong is generating else 2)).result()
            raise AssertionError("no exception")
        except (shoal.CheckError, TypeError) as error:
            assert text in str(error), error
    for damaged in b"", b"i123", b"s", b"s\x05\0abc", b"?", b"C":
        try:
            _core._load_plain(damaged)
            raise AssertionError("no exception")
        except shoal.DecodeError as error:
            assert "are damaged: all ranks must run the same version" in str(error), error
    if world.launch == "mpi" and size > 1 and me == 0:  # each rank has a module of its own
        world.call(1, replace).result()
        assert world.call(1, replaced, 5).result() == 6


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

    check_plain_calls(world, me, size, next_rank)

    numbers = array.array("d", range(10000))
    assert world.call(next_rank, doubled, numbers).result() == doubled(numbers)
    for view in (memoryview(numbers), memoryview(numbers).cast("B").cast("d", (100, 100)),
                 memoryview(numbers)[::2], memoryview(b"")):
        back = world.call(next_rank, given, view).result()
        assert type(back) is memoryview and back.tolist() == view.tolist()
    check_memory(world, next_rank)
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
