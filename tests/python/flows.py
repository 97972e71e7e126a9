"""Sequential task flow over values of Python; over arrays, too, where numpy is installed."""

import shoal
from support import refuses

try:
    import numpy
except ImportError:
    numpy = None

where = {}
attempts = {}
notes = []  # of rank 0


@shoal.flow_task(numbers=shoal.write)
def fill(numbers, start):
    where[start] = shoal.current_world().rank
    return [start, start + 1]


@shoal.flow_task(numbers=shoal.read_write, total=shoal.read_write)
def scan(numbers, total):
    """Changes the list in place, and returns nothing for it; the sum is a new number."""
    for index, number in enumerate(numbers):
        total += number
        numbers[index] = total
    shoal.sleep(1e-6)
    return numbers, total


@shoal.flow_task(a=shoal.read, into=shoal.commutative)
async def collect(a, into, *, places=()):
    assert shoal.current_world().size > 0
    into.append(a[0])


def note(key):
    notes.append(key)


@shoal.flow_task(total=shoal.read_write, retries=2)
def shaky(total, key):
    total.append("half done")
    shoal.current_world().send(0, note, key)
    attempts[key] = attempts.get(key, 0) + 1
    if attempts[key] < 3:
        raise OSError("not yet")


def check_values(world):
    flow = shoal.Flow("sums")
    blocks = [flow.data([], owner=b % world.size, name=f"block {b}") for b in range(5)]
    total = flow.data(0, name="total")
    found = flow.data([])
    for number, block in enumerate(blocks):
        fill(block, 10 * number)
        scan(block, total)
        collect(block, found, places=[number])
    expected, before = [], 0
    for number in range(5):
        expected.append([before + 10 * number, before + 20 * number + 1])
        before = expected[-1][1]
    assert flow.get(total) == before, flow.get(total)
    assert [block.get() for block in blocks] == expected
    assert sorted(found.get()) == [first for first, _ in expected]
    mine = [b for b in range(5) if 10 * b in where and where[10 * b] == world.rank]
    assert mine == list(range(world.rank, 5, world.size)), "tasks run where their data live"
    copy = blocks[0].get()
    copy.append(1)
    assert blocks[0].get() == expected[0], "get() returns a copy"
    last = world.size - 1
    fill.on(last)(blocks[0], 1000)
    assert blocks[0].get() == [1000, 1001]
    assert world.rank != last or where[1000] == last
    fill(blocks[0], shoal.task(abs)(-2000))  # a future among the arguments, of the rank of the task
    assert blocks[0].get() == [2000, 2001]
    words = flow.data(["whole"], owner=last)
    shaky(words, world.size)
    assert words.get() == ["whole", "half done"], words.get()
    flow.migrate(words, 0)
    flow.wait(words)
    flow.wait()
    return flow, total


def check_refusals(world, flow, total):
    reads = flow.task(scan._function, total=shoal.read)
    refuses(shoal.CheckError, "no datum of flow 'sums'", reads, [1], 3)
    refuses(shoal.CheckError, "has no mode", fill, total, total)
    refuses(shoal.CheckError, "none of its arguments is a datum", fill, [], 1)
    refuses(shoal.CheckError, "has no parameter 'x'", shoal.flow_task, print_it, x=shoal.read)
    refuses(shoal.CheckError, "is no mode", shoal.flow_task, print_it, value="r")
    refuses(shoal.CheckError, "99 is no rank", flow.data, 1, 99)
    refuses(shoal.CheckError, "99 is no rank", fill.on(99), total, 1)
    refuses(shoal.CheckError, "tasks_max: 0 is no number of tasks", shoal.Flow, tasks_max=0)
    refuses(TypeError, "missing a required argument", fill, total)
    refuses(TypeError, "is not sent", total.__reduce_ex__, 5)
    other = shoal.Flow("other")
    foreign = other.data(1)
    refuses(shoal.CheckError, "of another flow", scan, foreign, total)
    refuses(shoal.CheckError, "total.*", scan, total, total)  # given twice
    del other


def print_it(value):
    print(value)


@shoal.flow_task(a=shoal.read, b=shoal.read, c=shoal.read_write)
def multiply(a, b, c):
    assert not a.flags.writeable
    c += a @ b


@shoal.flow_task(tile=shoal.write)
def set_to(tile, value):
    tile[...] = value


def check_tiles(world):
    """A blocked product; data of tiles of arrays, and of arrays in memory of the flow."""
    size, step = 6, 4
    flow = shoal.Flow("product")
    left = numpy.arange(size * size, dtype=float).reshape(size, size)
    a = flow.tiles(left, (step, step), name="A")
    b = flow.tiles((size, size), (step, step), name="B", owner=lambda i, j: (i + j) % world.size)
    result = numpy.zeros((size, size))
    c = flow.tiles(result, (step, step), owner=lambda i, j: 0, name="C")
    assert a.shape == (2, 2) and len(b) == 4
    for tile in b:
        set_to.on(world.size - 1)(tile, 2.0)
    for i in range(2):
        for j in range(2):
            for k in range(2):
                multiply(a[i, k], b[k, j], c[i, j])
    flow.wait()
    world.barrier()
    if world.rank == 0:
        assert (result == left @ numpy.full((size, size), 2.0)).all(), result
    assert (c[0, 1].get() == (left @ numpy.full((size, size), 2.0))[:4, 4:]).all()
    # Arrays of the program, and equal views of them, stand for their data.
    whole = numpy.zeros(8)
    halves = [flow.data(whole[:4], name="low"), flow.data(whole[4:], name="high")]
    double = flow.task(lambda x: numpy.add(x, 1, out=x), x=shoal.read_write)
    double(whole[:4])
    double(halves[1])
    assert list(halves[0].get()) == [1] * 4 == list(flow.get(whole[4:]))
    refuses(shoal.CheckError, "shares memory with 'low'", flow.data, whole)
    flow.unregister(halves[1])
    assert world.rank != 0 or list(whole) == [1] * 8
    refuses(shoal.CheckError, "unregistered before", halves[1].get)
    refuses(shoal.CheckError, "shape .8,., which is no datum", double, whole)
    counts = flow.data(numpy.zeros(3, int))
    flow.task(lambda x: numpy.full(3, 7, "int32"), name="sevens", x=shoal.write)(counts)
    assert counts.get().dtype == int and list(counts.get()) == [7] * 3
    refuses(shoal.CheckError, "t returns float64.3,. for .*an array int64.3,.", counts._check,
            numpy.ones(3), "t")
    refuses(shoal.CheckError, "t returns 5 for", counts._check, 5, "t")
    refuses(IndexError, "has no tile .2, 0.", a.__getitem__, (2, 0))
    refuses(shoal.CheckError, "a positive size", flow.tiles, left, (0, 1))
    frozen = numpy.zeros(3)
    frozen.flags.writeable = False
    refuses(shoal.CheckError, "read-only", flow.data, frozen)


def main(world):
    flow, total = check_values(world)
    check_refusals(world, flow, total)
    if numpy is not None:
        check_tiles(world)
    return flow, total


if __name__ == "__main__":
    result = shoal.run(main)
    if result is not None:
        flow, total = result
        refuses(shoal.CheckError, "has ended", flow.data, 1)
        refuses(shoal.CheckError, "has ended", fill, total, 1)
        assert len(notes) == 1, "messages of attempts that fail are dropped"
        print("good")
