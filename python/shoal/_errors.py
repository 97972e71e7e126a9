"""The exceptions of shoal. Each message says what was wrong, where, and what to do."""

import traceback


class Error(RuntimeError):
    """Base of the exceptions of shoal, except CancelledError."""


class CheckError(Error):
    """A call that the program must not make, such as waiting in a handler."""


class ConfigError(Error):
    """A bad option, environment variable, configuration file or launch."""


class TransportError(Error):
    """A damaged packet, or a call of the transport below that failed."""


class DecodeError(TransportError):
    """Bytes that do not decode as the value that was asked for."""


class BrokenPromise(Error):
    """The promise behind a future is gone, and nothing can fulfil it any more."""


class RemoteError(Error):
    """An exception of another rank that cannot be sent as it is. The message has its type, its
    text and its traceback."""


class StuckError(Error):
    """Nothing runs any more, and something still waits. The message lists it for every rank."""


class TaskError(Error):
    """A task or handler of the world failed, or the world was cancelled.

    Attributes: rank, where it was thrown; task, the name of the task; text, that of the original
    exception, with its traceback."""

    def __init__(self, message, rank=-1, task="", text=""):
        super().__init__(message)
        self.rank = rank
        self.task = task
        self.text = text

    def __reduce__(self):
        return TaskError, (self.args[0], self.rank, self.task, self.text)


class RetryError(Error):
    """A task with retries has raised in its last attempt.

    Attributes: attempts, how often the task has run; last, the exception of the last attempt, which
    is also the __cause__."""

    def __init__(self, attempts, last):
        super().__init__(f"failed {attempts} times, the last: {type(last).__name__}: {last}")
        self.attempts = attempts
        self.last = self.__cause__ = last

    def __reduce__(self):
        return RetryError, (self.attempts, self.last)


class CancelledError(BaseException):
    """The wait of a task ended, because its world has failed or was cancelled. Let it pass: it is
    no Exception, so that handlers of errors do not stop it."""


class RemoteTraceback(Exception):
    """Cause of an exception that was raised on another rank: its traceback there, as text."""

    def __init__(self, rank, text):
        super().__init__(rank, text)
        self.rank = rank
        self.text = text

    def __str__(self):
        return f"on rank {self.rank}:\n{self.text}"


def format_exception(exception):
    """Text of an exception with its traceback."""
    return "".join(traceback.format_exception(exception)).rstrip()
