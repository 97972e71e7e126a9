"""Task graphs with keys of Python, teams, and collective operations of arrays."""

import array
import dataclasses
import decimal
import enum
import fractions
import operator
import threading
import typing

import shoal
from shoal import _graph
from support import refuses

ran = []


@dataclasses.dataclass(frozen=True)
class Cell:
    row: int
    column: int


class Colour(enum.IntEnum):
    RED = 1


class Word(str):
    pass


class Named(typing.NamedTuple):
    row: object
    column: object = None


class Letters(frozenset):
    pass


class Options:
    """Equal to others with the same attributes, in whatever order they were set."""

    def __init__(self, names):
        for name in names:
            setattr(self, name, {name})

    def __eq__(self, other):
        return vars(self) == vars(other)

    def __hash__(self):
        return len(vars(self))


def check_keys():
    keys = [None, 0, -5, 10**30, 2.5, float("inf"), "", "a;3", "\udc80", b"\0;", (), (1, ("x",)),
            frozenset({"a", "b"}), Cell(1, 2)]
    codes = [_graph.encode_key(key) for key in keys]
    assert len(set(codes)) == len(keys)
    assert [_graph.decode_key(code) for code in codes] == keys
    assert _graph.encode_key(True) == _graph.encode_key(1) == _graph.encode_key(1.0)
    for same in ((1, 1.0, True, Colour.RED, complex(1), decimal.Decimal(1)), ("a", Word("a")),
                 (Cell(1, 0.5), Cell(True, fractions.Fraction(1, 2))), (Named(2.0), Named(2)),
                 (Options("ab"), Options("ba")), (0.0, -0.0),
                 (decimal.Decimal("0.1"), decimal.Decimal("0.10"), fractions.Fraction(1, 10)),
                 (10**5000, decimal.Decimal(10**5000))):
        assert len({_graph.encode_key(key) for key in same}) == 1, same
        assert len({_graph.encode_key((key,)) for key in same}) == 1, same
        decoded = _graph.decode_key(_graph.encode_key(same[1]))
        assert decoded == same[0], (decoded, same)
    assert _graph.decode_key(_graph.encode_key(Named(1))).row == 1
    assert _graph.encode_key(1 + 2j) != _graph.encode_key(1)
    refuses(shoal.CheckError, "order of a Letters depends on hash", _graph.encode_key,
            Cell(1, Letters("ab")))
    part = "one object"
    two = "".join(["one", " object"])
    assert _graph.encode_key((part, part)) == _graph.encode_key((part, two))


def print_codes():
    """Of keys with parts in an order that hash() decides, and of those by which it does not."""
    letters = frozenset("abcdefgh")
    options = Options("abcdefgh")
    options.a = set(letters)
    for key in (letters, (letters, 1), Cell(letters, Cell(2, letters)), Named(letters), options,
                Options(letters)):
        code = _graph.encode_key(key)
        assert _graph.decode_key(code) == key
        print(code.hex())


def check_wavefront(world):
    """Each cell needs the cells above it and to its left."""
    side = 6

    def run(cell):
        shoal.sleep(1e-6)
        ran.append((world.rank, cell))
        for row, column in ((cell.row + 1, cell.column), (cell.row, cell.column + 1)):
            if row < side and column < side:
                graph.fulfill(Cell(row, column))

    graph = shoal.TaskGraph(run, lambda cell: max(1, (cell.row > 0) + (cell.column > 0)),
                            name="wave")
    if world.rank == 0:
        graph.fulfill(Cell(0, 0))
    world.wait()
    mine = [(rank, cell) for rank, cell in ran if rank == world.rank]  # embedded ranks share it
    everywhere = sum(world.allgather(mine), [])
    cells = [cell for _, cell in everywhere]
    assert sorted((c.row, c.column) for c in cells) == [
        (row, column) for row in range(side) for column in range(side)]
    places = {rank for rank, _ in everywhere}
    assert world.size == 1 or len(places) > 1, "the keys decide on ranks"
    return graph


def check_inputs(world):
    """Values along edges: a tree that adds numbers, and inputs that are optional or many."""
    depth, totals = 3, []

    def add(node, left, right):
        total = left + right
        level, index = node
        if level == 0:
            totals.append(total)
        else:
            shoal.sleep(1e-6)
            tree.send((level - 1, index // 2), **{("left", "right")[index % 2]: total})

    tree = shoal.TaskGraph(add, name="tree", rank=lambda node: node[1] % world.size)
    if world.rank == 0:
        tree.send_all([(depth, index) for index in range(2**depth)], left=1, right=0)
    world.wait()
    assert sum(world.allgather(sum(totals)), 0) == 2**depth
    got = []

    def takes(key, first, second="none", *parts, last=0):
        got.append((key, first, second, sorted(parts), last))

    many = shoal.TaskGraph(takes, lambda key: key, name="many", rank=lambda key: 0)
    if world.rank == world.size - 1:
        many.send(1, first="only")
        for part in (2, 1):
            many.send(4, parts=part)
        many.send(4, first={"a": 1}, last=5)
        many.send(3, first=1, second=2)
        many.fulfill(3)
    world.wait()
    assert world.rank > 0 or sorted(got) == [
        (1, "only", "none", [], 0), (3, 1, 2, [], 0), (4, {"a": 1}, "none", [1, 2], 5)], got
    refuses(shoal.CheckError, "no input 'middle'.*'left', 'right'", tree.send, (0, 0), middle=1)
    refuses(shoal.CheckError, "give indegree=", shoal.TaskGraph, takes)
    refuses(shoal.CheckError, "without a value", tree.send, (0, 0))
    refuses(shoal.CheckError, "input 'left'.*cannot be sent", tree.send, (0, 0),
            left=threading.Lock())
    refuses(shoal.CheckError, "there is none", shoal.TaskGraph(print).send, 1, x=1)


def check_places(world):
    seen = []
    graph = shoal.TaskGraph(seen.append, 2, rank=lambda key: len(key) % world.size,
                            priority=len, name="words")
    large = []
    huge = shoal.TaskGraph(large.append, 1, rank=lambda key: 0, name="huge")
    if world.rank == 0:
        huge.fulfill(10**5000)
    world.wait()
    assert large == ([10**5000] if world.rank == 0 else []), "the key of huge"
    for word in ("a", "bb", "ccc"):
        if world.rank == 0:
            graph.fulfill(word, 2)
    world.wait()
    assert sorted(seen) == [word for word in ("a", "bb", "ccc")
                            if len(word) % world.size == world.rank]


def rank_here():
    return shoal.current_world().rank


def check_teams(world):
    team = world.split(world.rank % 2, name="parity")
    assert team.size == (world.size + 1 - world.rank % 2) // 2, team
    assert team.allgather(world.rank) == list(range(world.rank % 2, world.size, 2))
    assert team.call(0, rank_here).result() == world.rank % 2
    team.barrier()
    team.wait()
    return team


def check_arrays(world):
    size = world.size
    for kind in "iqfd":
        mine = array.array(kind, [world.rank + 1] * 3000)
        assert list(world.allreduce(mine, shoal.SUM)) == [size * (size + 1) // 2] * 3000
        assert list(world.allreduce(mine, shoal.MAX)) == [size] * 3000
        assert list(world.allreduce(mine, shoal.MIN)) == [1] * 3000
        assert mine[0] == world.rank + 1
    small = array.array("d", [2.0])
    assert list(world.allreduce(small, shoal.PRODUCT)) == [2.0 ** size]
    assert world.allreduce(3, shoal.SUM) == 3 * size
    assert len(world.allreduce(small, operator.add)) == size  # Python's own +
    # Its code is the same everywhere, whatever the order of the set.
    assert world.allreduce(1, lambda a, b: sum(x for x in (a, b) if x not in {"a", "b", "c"})
                           ) == size
    refuses(shoal.CheckError, "signed integers", world.allreduce, array.array("H", [1]), shoal.SUM)


def check_refusals(world, graph):
    refuses(shoal.CheckError, "cannot be hashed", graph.fulfill, [1])
    refuses(shoal.CheckError, "0 is no number of dep", graph.fulfill, 1, 0)
    refuses(shoal.CheckError, "indegree: 0 is no number of dep", shoal.TaskGraph, print, 0)
    refuses(shoal.CheckError, "task: 3 cannot be called", shoal.TaskGraph, 3)
    refuses(shoal.CheckError, "cannot be sent", graph.fulfill, lambda: 0)
    for wrong, text in ((2**32 + 1, "4294967297"), (2**70, str(2**70)), (0.5, "0.5"),
                        ("0", "'0'"), (None, "None")):
        for option in ("indegree", "rank", "priority"):
            options = {"indegree": lambda key: 1, "rank": lambda key: world.rank,
                       option: lambda key: wrong}
            bad = shoal.TaskGraph(print, name="wrong", **options)
            refuses(shoal.CheckError, f"'wrong': {option}= says {text} for task 'key'.*32 bits",
                    bad.fulfill, "key")


def main(world):
    check_keys()
    graph = check_wavefront(world)
    check_inputs(world)
    check_places(world)
    check_refusals(world, graph)
    team = check_teams(world)
    check_arrays(world)
    return graph, team


if __name__ == "__main__":
    result = shoal.run(main)
    if result is not None:
        graph, team = result
        refuses(shoal.CheckError, "has ended", graph.fulfill, 1)
        refuses(shoal.CheckError, "has ended", team.barrier)
        print("good")
