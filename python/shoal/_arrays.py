"""Global arrays: elements over all ranks."""

import array
import sys

from . import _core, _errors
from ._run import current_world

_KINDS = {float: (_core._DoubleArray, "d"), int: (_core._IntegerArray, "q")}


def _addable(kind):
    """A number that remembers where it is from: `ga[i] += x` adds at the owner, atomically."""

    class Element(kind):
        def __iadd__(self, other):
            total = Element(kind(self) + other)
            total._place = self._place
            total._added = (self._added or 0) + other
            return total

    return Element


_ELEMENTS = {kind: _addable(kind) for kind in _KINDS}


class GlobalArray:
    """An array of numbers over all ranks, in blocks of equal size. Made in the main function, on all
    ranks in the same order. Its elements are 0 at first.

    `ga[3]` reads an element, and `ga[3:7]` several, from whichever ranks have them: a numpy array if
    the program uses numpy, else an array.array. `ga[3] = x` and `ga[3:7] = values` write; writes are
    complete after quiet(), and others see them after a barrier. `ga[3] += x` is atomic. A task that
    reads elements of another rank is parked until they come.

    Parameters:
        size: number of elements.
        dtype: float (8 bytes) or int (8 bytes, signed).
        name: in reports.
        team: default: the world."""

    def __init__(self, size, dtype=float, name="array", team=None):
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise _errors.CheckError(f"global array {name!r}: its size is {size!r}: give a number")
        if dtype not in _KINDS:
            raise _errors.CheckError(
                f"global array {name!r}: its dtype is {dtype!r}: give float or int")
        made, self._code = _KINDS[dtype]
        self._kind = dtype
        self._name = name
        self._size = size
        self._array = made(team or current_world(), size, name)

    def __len__(self):
        return self._size

    def _index_of(self, index):
        if isinstance(index, bool) or not hasattr(index, "__index__"):
            raise _errors.CheckError(
                f"global array {self._name!r}: the index is {index!r}: give an integer or a slice")
        place = index.__index__()
        if place < 0:
            place += self._size
        if not 0 <= place < self._size:
            raise IndexError(
                f"global array {self._name!r} has no element {index}: its size is {self._size}")
        return place

    def _range_of(self, part):
        first, end, step = part.indices(self._size)
        if step != 1:
            raise _errors.CheckError(
                f"global array {self._name!r}: a slice with step {step}: give one without a step")
        return first, max(0, end - first)

    def __getitem__(self, index):
        if not isinstance(index, slice):
            place = self._index_of(index)
            element = _ELEMENTS[self._kind](self._array.get_one(place))
            element._place = (self, place)
            element._added = None
            return element
        first, count = self._range_of(index)
        numpy = sys.modules.get("numpy")
        into = numpy.zeros(count, self._code) if numpy is not None else array.array(
            self._code, bytes(8 * count))
        if count > 0:
            self._array.get(first, into)
        return into

    def __setitem__(self, index, value):
        if not isinstance(index, slice):
            place = self._index_of(index)
            if getattr(value, "_place", None) == (self, place) and value._added is not None:
                self._array.fetch_add(place, value._added)
            else:
                self._array.put_one(place, self._kind(value))
            return
        first, count = self._range_of(index)
        view = self._view_of(value)
        if view.nbytes != 8 * count:
            raise _errors.CheckError(
                f"global array {self._name!r}: {view.nbytes // 8} values for {count} elements")
        if count > 0:
            self._array.put(first, view)

    def _view_of(self, value):
        try:
            view = memoryview(value)
            kinds = "d" if self._kind is float else "lq"
            if view.format.lstrip("@=<") in kinds and view.itemsize == 8 and view.c_contiguous:
                return view
        except TypeError:
            pass
        return memoryview(array.array(self._code, value))

    def fetch_add(self, index, value):
        """Adds to an element, atomically; returns the value before. Parks the task if another rank
        has the element. Raises IndexError."""
        return self._array.fetch_add(self._index_of(index), self._kind(value))

    def quiet(self):
        """Returns when all writes of this rank are complete. Parks the task."""
        self._array.quiet()

    def owner(self, index):
        """The rank that has an element. Never blocks; raises IndexError."""
        return self._array.owner(self._index_of(index))

    def __repr__(self):
        return f"<shoal global array {self._name!r} of {self._size} {self._kind.__name__}>"
