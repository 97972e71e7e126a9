"""Functions that several test programs use."""

import re


def refuses(kind, pattern, function, /, *arguments, **keywords):
    """The call raises an exception of this kind, whose text matches."""
    try:
        function(*arguments, **keywords)
    except kind as error:
        assert re.search(pattern, str(error)), f"{error!r} does not match {pattern!r}"
    else:
        raise AssertionError(f"{pattern!r} was not refused")
