"""Looks at running programs with shoal-top, and checks what it says."""

import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import tempfile
import termios
import time

import suite

NOTHING_RUNS = 1


def is_steady(rank):
    rates = ("messages_sent_per_s", "messages_received_per_s", "tasks_per_s")
    return (rank["known"] and rank["tasks_parked"] >= 3 and all(rank[name] > 0 for name in rates)
            and rank["age_s"] < 3)


def all_steady(ranks, count):
    return len(ranks) == count and all(is_steady(rank) for rank in ranks)


def names_task(ranks):
    return any(worker.get("task") == "relax" for rank in ranks for worker in rank["workers"])


def control(terminal):
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, b"\x28\x00\xc8\x00\x00\x00\x00\x00")  # 40 x 200
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ignored by what a script runs in the background


class Running(suite.Suite):

    def setUp(self):
        self.tool, self.steady = self.program("shoal-top"), self.program("top_steady")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.stop = pathlib.Path(folder.name) / "stop"

    def start(self, launcher, *options):
        run = subprocess.Popen([*launcher, self.steady, "--stall-report", "1600ms", *options,
                                str(self.stop)],
                               env={**os.environ, **suite.build().mpi_environment})
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        self.addCleanup(self.stop.touch)
        return run

    def once(self, *arguments):
        """The ranks of the program of this test, and no others: somebody else may run one."""
        result = self.run_command([self.tool, "--once", "--json", *arguments],
                                  code=[0, NOTHING_RUNS])
        ranks = json.loads(result.output)["ranks"]
        self.assertEqual(result.code == NOTHING_RUNS, not ranks)
        return [rank for rank in ranks if rank["program"].endswith(str(self.stop))]

    def await_ranks(self, run, holds, *arguments):
        """Looks again until the figures are those of the steady state: the page and the main
        functions begin when they can."""
        while not holds(ranks := self.once(*arguments)):
            self.assertIsNone(run.poll(), "the program has ended")
        return ranks

    def check_rank(self, rank, workers):
        self.assertEqual(len(rank["workers"]), workers, rank)
        states = {worker["state"] for worker in rank["workers"]}
        self.assertLessEqual(states, {"task", "handler", "asleep", "looking"})
        self.assertTrue(0 <= rank["busy"] <= 1, rank)
        self.assertGreater(rank["resident_bytes"], 100_000)
        self.assertTrue(rank["bytes_sent"] >= rank["messages_sent"] > 0, rank)
        self.assertEqual(rank["window"]["size_bytes"], 1 << 20)

    def test_embedded(self):
        run = self.start([], "--ranks", "2", "--workers", "2")
        ranks = self.await_ranks(run, lambda ranks: all_steady(ranks, 2))
        for number, rank in enumerate(ranks):
            self.assertEqual((rank["rank"], rank["pid"]), (number, run.pid))
            self.check_rank(rank, 2)
        self.assertEqual(len(self.once(run.pid)), 2, "the process by its number")
        self.await_ranks(run, names_task)
        self.assertFalse(self.once(1), "a process without shoal has ranks")
        self.in_terminal(run, b"q")
        self.in_terminal(run, b"\x03")  # Ctrl-C
        # One that stands still is shown with its last figures and their age.
        run.send_signal(signal.SIGSTOP)
        ranks = self.once(run.pid)
        self.assertTrue(len(ranks) == 2 and ranks[0]["age_s"] > 1, ranks)
        run.send_signal(signal.SIGCONT)
        # One that is killed leaves nothing behind.
        run.kill()
        run.wait()
        self.assertFalse(self.once(), "a killed process is shown")

    def test_process_that_is_no_program_of_shoal(self):
        """A clear text, exit code 1, and no error."""
        result = self.run_command([self.tool, "--once", "1"], code=NOTHING_RUNS)
        self.assertRegex(result.output, "^process 1 is no running program of yours that uses shoal")
        self.assertEqual(result.errors, "")

    def in_terminal(self, run, key):
        """Shows the ranks, changes the order, and leaves the terminal as it was."""
        main, terminal = pty.openpty()
        with subprocess.Popen([self.tool, "--interval", "0.1"], stdin=terminal, stdout=terminal,
                              start_new_session=True,
                              preexec_fn=lambda: control(terminal)) as tool:
            os.close(terminal)
            text = self.read_until(main, rb"by rank.*steady.*RANK.*\n +1 +%d" % run.pid)
            self.assertIn(b"\x1b[?1049h", text, "no screen of its own")
            os.write(main, b"s")
            self.read_until(main, rb"by busy")
            os.write(main, key)
            self.read_until(main, rb"\x1b\[\?1049l")
            self.assertEqual(tool.wait(60), 0, f"after {key}")
        os.close(main)

    def read_until(self, descriptor, pattern):
        text = b""
        while re.search(pattern, text, re.DOTALL) is None:
            ready, _, _ = select.select([descriptor], [], [], 60)
            self.assertTrue(ready, f"no {pattern} in {text}")
            text += os.read(descriptor, 65536)
        return text

    def test_processes(self):
        """Four processes: all of them from one, by messages; one that is killed."""
        if not suite.build().mpis:
            self.skipTest("this build has no MPI")
        launcher = suite.build().launchers[suite.build().mpis[0]]
        run = self.start([*launcher, "4"], "--workers", "1")
        ranks = self.await_ranks(run, lambda ranks: all_steady(ranks, 4))
        self.assertEqual(len({rank["pid"] for rank in ranks}), 4)
        self.assertEqual(len({rank["job"] for rank in ranks}), 1)
        for process in (ranks[0]["pid"], ranks[2]["pid"]):
            found = self.await_ranks(run, lambda ranks: all_steady(ranks, 4), process)
            self.assertEqual([rank["pid"] for rank in found], [rank["pid"] for rank in ranks])
            for rank in found:
                self.check_rank(rank, 1)
        # The launcher ends the others, and no page stays.
        os.kill(ranks[3]["pid"], signal.SIGKILL)
        run.wait(60)
        while self.once():
            time.sleep(0.05)


if __name__ == "__main__":
    suite.main()
