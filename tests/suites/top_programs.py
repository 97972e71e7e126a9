"""Looks at running programs with shoal-top, and checks what it says."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import time

import suite

NOTHING_RUNS = 1


class Top(suite.Suite):

    def setUp(self):
        self.stop = str(self.folder() / "stop")

    def start(self, launcher, *options):
        command = [*launcher, self.program("top_steady"), "--stall-report", "1600ms", *options,
                   self.stop]
        environment = {**os.environ, **suite.build().mpi_environment}
        return subprocess.Popen([str(word) for word in command], env=environment)

    def once(self, *arguments):
        """The ranks of the program of this test, and no others: somebody else may run one."""
        done = self.run_command([self.program("shoal-top"), "--once", "--json", *arguments],
                                code=None)
        self.assertIn(done.code, (0, NOTHING_RUNS), str(done))
        ranks = json.loads(done.output)["ranks"]
        self.assertEqual(done.code == NOTHING_RUNS, not ranks, str(done))
        return [rank for rank in ranks if rank["program"].endswith(self.stop)]

    def await_ranks(self, run, holds, *arguments):
        """Looks again until the figures are those of the steady state: the page and the main
        functions begin when they can."""
        while True:
            ranks = self.once(*arguments)
            if holds(ranks):
                return ranks
            self.assertIsNone(run.poll(), "the program has ended")

    def test_embedded(self):
        with self.start([], "--ranks", "2", "--workers", "2") as run:
            try:
                ranks = self.await_ranks(run, lambda ranks: all_steady(ranks, 2))
                for number, rank in enumerate(ranks):
                    self.assertTrue((rank["rank"], rank["pid"]) == (number, run.pid),
                                    f"ranks: {ranks}")
                    self.check_rank(rank, 2)
                self.assertTrue(len(self.once(run.pid)) == 2, "the process by its number")
                self.await_ranks(run, names_task)
                self.assertTrue(not self.once(1), "a process without shoal has ranks")
                self.nothing()
                self.in_terminal(run, b"q")
                self.in_terminal(run, b"\x03")  # Ctrl-C
                # One that stands still is shown with its last figures and their age.
                run.send_signal(signal.SIGSTOP)
                ranks = self.once(run.pid)
                self.assertTrue(len(ranks) == 2 and ranks[0]["age_s"] > 1,
                                f"a stopped process: {ranks}")
                run.send_signal(signal.SIGCONT)
                # One that is killed leaves nothing behind.
                run.kill()
                run.wait()
                self.assertTrue(not self.once(), "a killed process is shown")
            finally:
                run.kill()

    def nothing(self):
        """A process that is no program of shoal: a clear text, exit code 1, and no error."""
        done = subprocess.run([self.program("shoal-top"), "--once", "1"], capture_output=True,
                              text=True, timeout=60)
        text = "process 1 is no running program of yours that uses shoal\n"
        self.assertTrue(done.returncode == NOTHING_RUNS and done.stdout.startswith(text)
                        and not done.stderr,
               f"nothing runs: {done}")

    def in_terminal(self, run, key):
        """Shows the ranks, changes the order, and leaves the terminal as it was."""
        main, terminal = pty.openpty()
        with subprocess.Popen([self.program("shoal-top"), "--interval", "0.1"], stdin=terminal,
                              stdout=terminal, start_new_session=True,
                              preexec_fn=lambda: control(terminal)) as tool:
            os.close(terminal)
            text = self.read_until(main, rb"by rank.*steady.*RANK.*\n +1 +" + str(run.pid).encode())
            self.assertTrue(b"\x1b[?1049h" in text, "no screen of its own")
            os.write(main, b"s")
            self.read_until(main, rb"by busy")
            os.write(main, key)
            self.read_until(main, rb"\x1b\[\?1049l")
            self.assertTrue(tool.wait(60) == 0, f"exit code {tool.returncode} after {key}")
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
        launcher = [*suite.build().launchers[self.first_mpi()], 4]
        with self.start(launcher, "--workers", "1") as run:
            try:
                ranks = self.await_ranks(run, lambda ranks: all_steady(ranks, 4))
                self.assertTrue(len({rank["pid"] for rank in ranks}) == 4, f"processes: {ranks}")
                self.assertTrue(len({rank["job"] for rank in ranks}) == 1, f"jobs: {ranks}")
                for process in (ranks[0]["pid"], ranks[2]["pid"]):
                    found = self.await_ranks(run, lambda ranks: all_steady(ranks, 4), process)
                    self.assertTrue([rank["pid"]
                                     for rank in found] == [rank["pid"] for rank in ranks],
                           f"by {process}: {found}")
                    for rank in found:
                        self.check_rank(rank, 1)
                # The launcher ends the others, and no page stays.
                os.kill(ranks[3]["pid"], signal.SIGKILL)
                run.wait(60)
                while self.once():
                    time.sleep(0.05)
            finally:
                open(self.stop, "w").close()
                run.kill()

    def check_rank(self, rank, workers):
        self.assertTrue(len(rank["workers"]) == workers, f"not {workers} workers: {rank}")
        states = {worker["state"] for worker in rank["workers"]}
        self.assertTrue(states <= {"task", "handler", "asleep", "looking"}, f"states {states}")
        self.assertTrue(0 <= rank["busy"] <= 1, f"busy: {rank['busy']}")
        self.assertTrue(rank["resident_bytes"] > 100_000, f"memory: {rank['resident_bytes']}")
        self.assertTrue(rank["bytes_sent"] >= rank["messages_sent"] > 0, f"bytes: {rank}")
        self.assertTrue(rank["window"]["size_bytes"] == 1 << 20, f"window: {rank['window']}")


def is_steady(rank):
    return (rank["known"] and rank["tasks_parked"] >= 3 and rank["messages_sent_per_s"] > 0
            and rank["messages_received_per_s"] > 0 and rank["tasks_per_s"] > 0
            and rank["age_s"] < 3)


def all_steady(ranks, count):
    return len(ranks) == count and all(is_steady(rank) for rank in ranks)


def names_task(ranks):
    return any(worker.get("task") == "relax" for rank in ranks for worker in rank["workers"])


def control(terminal):
    import fcntl
    import termios
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, b"\x28\x00\xc8\x00\x00\x00\x00\x00")  # 40 x 200
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ignored by what a script runs in the background


if __name__ == "__main__":
    suite.main()
