"""Interactive interpreters and notebooks: interrupts, progress of runs, reports of traces."""

import contextlib
import contextvars
import os
import select
import signal
import sys
import threading
import time

from . import _errors
from ._programs import find_tool

_INTERVAL = 0.5  # seconds between two updates
_DELAY = 2  # seconds without any


def is_interactive():
    """Whether the functions of the program are nowhere but in the interpreter."""
    return not hasattr(sys.modules.get("__main__"), "__file__") or is_notebook()


def is_notebook():
    return "ipykernel" in sys.modules


class _Progress:
    """Line of a notebook on a run that takes long."""

    def __init__(self, running):
        self._running = running
        self._start = time.monotonic()
        self._display = None

    def show(self, is_over=False):
        seconds = time.monotonic() - self._start
        if seconds < _DELAY or not is_notebook():
            return
        from IPython import display
        tasks = self._running.tasks_run()
        text = f"shoal: {tasks:,} tasks in {seconds:.0f} s"
        line = display.HTML(text if is_over else f"<progress></progress> {text}")
        if self._display is None:
            self._display = display.display(line, display_id=True)
        else:
            self._display.update(line)


class Running:
    """Worlds whose main functions run in this process, for other threads."""

    def __init__(self):
        self._lock = threading.Lock()
        self._worlds = []  # guarded by the lock, as their ends are
        self._ended = 0  # tasks of those that have ended
        self._reason = None  # to cancel them, also those that come later

    @contextlib.contextmanager
    def entered(self, world):
        with self._lock:
            self._worlds.append(world)
            reason = self._reason
        try:
            if reason is not None:
                world.cancel(reason)
            yield
        finally:
            with self._lock:
                self._worlds.remove(world)
                self._ended += world._tasks_run

    def tasks_run(self):
        with self._lock:
            return self._ended + sum(world._tasks_run for world in self._worlds)

    def cancel(self, reason):
        with self._lock:
            self._reason = reason
            for world in self._worlds:
                world.cancel(reason)


class Watch:
    """Thread that looks after a run for which the main thread waits, outside of Python: Ctrl-C and
    the button of a notebook cancel the run, and a notebook shows its progress. The
    KeyboardInterrupt is raised when the run has ended."""

    def __init__(self, running):
        self._running = running
        self._is_interrupted = False

    def __enter__(self):
        # In place of Python's own, which would raise wherever the main thread is, also in the end.
        self._handler = signal.signal(signal.SIGINT, self._note)
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        # The interpreter writes the numbers of signals there as they come.
        self._before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        look = contextvars.copy_context().run
        self._thread = threading.Thread(target=look, args=[self._look], daemon=True)
        self._thread.start()

    def __exit__(self, *error):
        signal.set_wakeup_fd(self._before)
        os.write(self._writer, bytes(1))  # no signal: the end
        self._thread.join()
        os.close(self._reader)
        os.close(self._writer)
        signal.signal(signal.SIGINT, self._handler)
        if self._is_interrupted:
            raise KeyboardInterrupt

    def _note(self, *_signal):
        self._is_interrupted = True

    def _look(self):
        progress = _Progress(self._running)
        while True:
            if not select.select([self._reader], [], [], _INTERVAL)[0]:
                progress.show()
                continue
            signals = os.read(self._reader, 64)
            if self._before != -1:
                os.write(self._before, signals.replace(bytes(1), b""))
            if signal.SIGINT in signals:
                self._running.cancel("interrupted")
            if 0 in signals:
                return progress.show(is_over=True)


class TraceReport:
    """The report of a trace, which a notebook shows as a picture: a timeline of the tasks and
    messages of all ranks, the critical path, and charts.

        shoal.run(main, ranks=2, trace="run.trace")
        shoal.TraceReport("run.trace")

    Parameters:
        path: of the trace.
        height: of the picture, in pixels.

    str() of it says what bounds the run. Raises Error if there is no such trace."""

    def __init__(self, path, height=600):
        self._path = os.fspath(path)
        self._height = height
        self._text = self._run("why").strip()

    def _run(self, *words):
        import subprocess
        done = subprocess.run([find_tool("shoal-trace"), *words, self._path], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            raise _errors.Error(done.stderr.strip())
        return done.stdout

    @property
    def page(self):
        """The report as a page of HTML that needs no network."""
        import tempfile
        with tempfile.TemporaryDirectory(prefix="shoal-python-") as folder:
            path = os.path.join(folder, "report.html")
            self._run("report", "-o", path)
            with open(path, encoding="utf-8") as file:
                return file.read()

    def __repr__(self):
        return self._text

    def _repr_html_(self):
        from html import escape
        return (f'<iframe srcdoc="{escape(self.page)}" width="100%" height="{self._height}" '
                'frameborder="0"></iframe>')
