"""Global arrays: elements over all ranks."""

import array
import contextlib
import dis
import functools
import sys
import warnings

from . import _core, _errors, _wire
from ._run import _check_name, _integer_of, _team_of

_KINDS = {float: (_core._DoubleArray, "d"), int: (_core._IntegerArray, "q")}


def _number_of(value, kind):
    """The value as an element, converted as numpy's "same_kind" casting does. Raises TypeError, and
    OverflowError for an integer of more than 64 bits."""
    if isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", "") == "c" or (
            getattr(value, "ndim", 0) != 0):
        raise TypeError(f"{value!r} is no {'integer' if kind is int else 'real number'}")
    return array.array(_KINDS[kind][1], [value])[0]


def _addable(kind):
    """A number that remembers where it is from: `ga[i] += x` adds at the owner, atomically. What
    travels is the number."""

    class Element(kind):
        def __iadd__(self, other):
            return self._plus(other, 1)

        def __isub__(self, other):
            return self._plus(other, -1)

        def _plus(self, other, sign):
            try:
                change = sign * _number_of(other, kind)
            except (OverflowError, TypeError):  # the sum is of another kind, and no element
                return kind(self) + other if sign == 1 else kind(self) - other
            total = Element(kind(self) + change)
            total._place = self._place
            total._added = (self._added or 0) + change
            return total

        def __reduce__(self):
            return kind, (kind(self),)

    return Element


_ELEMENTS = {kind: _addable(kind) for kind in _KINDS}


class _Addition:
    """What `ga[i:j] += x` adds to the elements, each at its owner, atomically."""

    def __init__(self, values):
        self.values = values


@functools.cache
def _part_type():
    """Class of the array of numpy that `ga[i:j] += x` reads."""
    import numpy

    class Part(numpy.ndarray):
        def __iadd__(self, other):
            return _Addition(self._changed_by(numpy.add, other))

        def __isub__(self, other):
            return _Addition(self._changed_by(numpy.subtract, other))

        def _changed_by(self, operation, other):
            added = numpy.zeros(self.shape, self.dtype)
            return operation(added, other, out=added)

    return Part


_CACHE, _COPY = dis.opmap.get("CACHE", 0), dis.opmap["COPY"]


def _is_augmented(frame):
    """Whether a frame reads for an augmented assignment, such as `ga[i:j] += x`: it has copied the
    operands of the subscript, for the write. An array that the program has read may be changed in
    every way before it is written; this one is only added to."""
    code, at = frame.f_code.co_code, frame.f_lasti
    while at > 0 and code[at] == _CACHE:
        at -= 2
    return at >= 2 and code[at - 2] == _COPY


class _Probe:
    def __getitem__(self, index):
        self.seen = _is_augmented(sys._getframe(1))
        return 0

    def __setitem__(self, index, value):
        pass


@functools.cache
def _warn_of_python():
    """Says so if this Python compiles an augmented assignment in a way that is not known."""
    probe = _Probe()
    probe[0:1] += 1
    if not probe.seen:
        warnings.warn("shoal does not know how this Python compiles `ga[i:j] += x` of a "
                      "GlobalArray: what other ranks write to these elements meanwhile is lost",
                      RuntimeWarning, stacklevel=4)


class GlobalArray(_wire.OfRank):
    """An array of numbers over all ranks, in blocks of equal size. Made in the main function, on
    all ranks in the same order. Its elements are 0 at first.

    `ga[3]` reads an element, and `ga[3:7]` several, from whichever ranks have them: a numpy array
    if the program uses numpy, else an array.array. `ga[3] = x` and `ga[3:7] = values` write; writes
    are complete after quiet(), and others see them after a barrier. `ga[3] += x` is atomic, and so
    is `-=`; with numpy, `ga[3:7] += x` adds to each element atomically, and is complete after
    quiet(). Other operations, such as `ga[3] *= x`, read, and write later: another rank must not
    write meanwhile. A task that reads elements of another rank is parked until they come.

    Values are numbers: TypeError for a float in an array of int, and for a complex number;
    OverflowError for an integer of more than 64 bits; CheckError for another number of values than
    of elements, and for an array of several dimensions.

    Parameters:
        size: number of elements.
        dtype: float (8 bytes) or int (8 bytes, signed).
        name: in reports.
        team: default: the world."""

    def __init__(self, size, dtype=float, name="array", team=None):
        _check_name(name, "shoal.GlobalArray")
        size = _integer_of(size, 0, 2**60 - 1, f"global array {name!r}: its size",
                           "no number of elements: give an integer that is not negative")
        if dtype not in _KINDS:
            raise _errors.CheckError(
                f"global array {name!r}: its dtype is {dtype!r}: give float or int")
        _warn_of_python()
        made, self._code = _KINDS[dtype]
        self._kind = dtype
        self._name = name
        self._size = size
        self._array = made(_team_of(team, "shoal.GlobalArray"), size, name)

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
        if numpy is not None and _is_augmented(sys._getframe(1)):
            return into.view(_part_type())
        return into

    def __setitem__(self, index, value):
        if not isinstance(index, slice):
            place = self._index_of(index)
            added = None
            if getattr(value, "_place", None) == (self, place):
                added, value._added = value._added, None
            if added is not None:
                self._array.fetch_add(place, added)
            else:
                self._array.put_one(place, self._number_of(value))
            return
        first, count = self._range_of(index)
        if type(value) is _Addition:
            self._array.add(first, value.values)
        elif (view := self._view_of(value, count)).nbytes > 0:
            self._array.put(first, view)

    def _number_of(self, value):
        try:
            return _number_of(value, self._kind)
        except (OverflowError, TypeError) as error:
            raise type(error)(f"global array {self._name!r} of {self._kind.__name__}: {error}: "
                              "convert the value") from None

    def _view_of(self, value, count):
        """Contiguous memory with `count` elements."""
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(value, numpy.ndarray) and value.ndim == 1 and (
                numpy.can_cast(value.dtype, self._code, "safe")):
            value = numpy.ascontiguousarray(value, self._code)
        view = None
        with contextlib.suppress(BufferError, TypeError, ValueError):
            view = memoryview(value)
        shape = getattr(value if view is None else view, "shape", (count,))
        if len(shape) != 1:
            raise _errors.CheckError(
                f"global array {self._name!r}: an array of shape {tuple(shape)} for {count} "
                "elements: give one of one dimension, as by ravel()")
        kinds = ("d",) if self._kind is float else ("l", "q")
        if view is None or _wire.letter_of(view) not in kinds or view.itemsize != 8 or (
                not view.c_contiguous):
            view = memoryview(self._elements_of(value, count))
        if view.nbytes != 8 * count:
            raise _errors.CheckError(
                f"global array {self._name!r}: {view.nbytes // 8} values for {count} elements: "
                "give one for each")
        return view

    def _elements_of(self, values, count):
        try:
            items = list(values)
        except TypeError:
            raise _errors.CheckError(
                f"global array {self._name!r}: {values!r} for {count} elements: give a sequence "
                "of numbers") from None
        with contextlib.suppress(OverflowError):
            if all(type(item) is self._kind for item in items):
                return array.array(self._code, items)
        return array.array(self._code, map(self._number_of, items))

    def fetch_add(self, index, value):
        """Adds to an element, atomically; returns the value before. Parks the task if another rank
        has the element. Raises IndexError, and for other values as a write does."""
        return self._array.fetch_add(self._index_of(index), self._number_of(value))

    def quiet(self):
        """Returns when all writes of this rank are complete. Parks the task."""
        self._array.quiet()

    def owner(self, index):
        """The rank that has an element. Never blocks; raises IndexError."""
        return self._array.owner(self._index_of(index))

    def __repr__(self):
        return f"<shoal global array {self._name!r} of {self._size} {self._kind.__name__}>"
