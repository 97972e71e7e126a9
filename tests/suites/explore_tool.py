"""Answers of shoal-explore to programs that are scripts."""

import suite

EXPLORE = suite.SOURCE / "tools/shoal-explore"
SUCCESS = "echo 'shoal: simulated 1 rank with seed 1' >&2; exit 0"


class Explore(suite.Suite):

    def script(self, body):
        path = self.folder() / "program"
        path.write_text("#!/bin/sh\n" + body)
        path.chmod(0o700)
        return str(path)

    def explore(self, *words):
        done = self.run_command([EXPLORE, *words], code=None)
        return done.code, done.output + done.errors

    def test_no_failure(self):
        code, text = self.explore("--seeds", "7", "--", self.script(SUCCESS))
        self.assertEqual(code, 0, text)
        self.assertIn("shoal-explore: 7 seeds, no failure\n", text)
        self.assertIn("-DSHOAL_SANITIZE=thread", text)

    def test_binary_that_is_no_program_of_shoal(self):
        code, text = self.explore("--", "true")
        self.assertEqual(code, 2, text)
        self.assertIn("true is no program of shoal", text)

    def test_script_that_runs_no_program_of_shoal(self):
        code, text = self.explore("--", self.script("exit 0"))
        self.assertEqual(code, 2, text)
        self.assertIn("ended without a simulation", text)
        code, text = self.explore("--log", "0", "--no-shrink", "--", self.script("exit 3"))
        self.assertEqual(code, 1, text)
        self.assertIn("is it a program of shoal?", text)

    def test_program_with_thread_sanitizer(self):
        # A mark that no script would have; the report is cut to the program's own frames.
        program = self.script(f"""# __tsan_init
            case "$*" in *--sim-races*) ;; *) {SUCCESS};; esac
            cat >&2 <<'END'
==================
WARNING: ThreadSanitizer: data race (pid=1)
  Write of size 4 at 0x1 by thread T2:
    #0 count() /there/build/../program.cpp:7 (program+0x1) (BuildId: 1)
    #1 shoal::sched::Worker::run_function() /worker.cpp:1 (program+0x2)
    #2 main program.cpp:99
  Thread T2 'task, rank 0' (tid=0, running) created by thread T1 at:
    #0 made here
SUMMARY: ThreadSanitizer: data race program.cpp:7 in count()
END
            exit 66""")
        code, text = self.explore("--log", "0", "--no-shrink", "--", program)
        self.assertEqual(code, 1, text)
        self.assertIn("--sim-races --sim-seed 1", text)
        self.assertIn("    #0 count() program.cpp:7\n    Thread T2 'task, rank 0'\n"
                      "  SUMMARY: ThreadSanitizer: data race program.cpp:7 in count()", text)

    def test_failure_is_made_small(self):
        # Fails with at least 3 ranks and a delay, whatever the seed and the order.
        program = self.script('case "$*" in *--sim-faults*delay*--ranks\\ [3-9]*) '
                              'echo "error: 4 things" >&2; exit 1;; esac; ' + SUCCESS)
        code, text = self.explore("--seeds", "5", "--faults", "drop:n=1;delay:p=1,by=1us", "--",
                                  program, "--ranks", "8", "own")
        self.assertEqual(code, 1, text)
        self.assertIn(f"fails in the same way:\n  {program} own --sim --sim-seed 1 --sim-faults "
                      "delay:p=1,by=1us --ranks 3\n  error: 4 things", text)

    def test_first_failing_seed_is_reported(self):
        program = self.script('case "$*" in *--sim-seed\\ [4-9]*) exit 3;; esac; ' + SUCCESS)
        code, text = self.explore("--orders", "uniform", "--", program)
        self.assertEqual(code, 1)
        self.assertIn("run 4 of 1000 failed", text)
        self.assertIn("exit code 3", text)

    def test_other_failures_do_not_count_when_shrinking(self):
        program = self.script('case "$*" in *--ranks\\ 2*) echo "shoal: error: big" >&2; exit 1;; '
                              '*) echo "shoal: error: small" >&2; exit 1;; esac')
        _, text = self.explore("--orders", "time", "--", program, "--ranks", "2")
        self.assertIn("--ranks 2\n  shoal: error: big\nits last events", text)

    def test_program_that_does_not_end(self):
        code, text = self.explore("--timeout", "0.2", "--jobs", "1", "--log", "0", "--no-shrink",
                                  "--", self.script("exec sleep 60"))
        self.assertEqual(code, 1)
        self.assertIn("no end within 0.2 s", text)

    def test_program_that_goes_on_for_ever_in_virtual_time(self):
        program = self.script('case "$*" in *--sim-limit\\ 3s*) '
                              'echo "error: no end (--sim-limit)" >&2; exit 1;; esac; ' + SUCCESS)
        code, text = self.explore("--limit", "3s", "--orders", "time", "--", program)
        self.assertEqual(code, 1)
        self.assertIn(f"{program} --sim --sim-seed 1 --sim-limit 3s\n", text)

    def test_program_that_crashes(self):
        code, text = self.explore("--log", "0", "--no-shrink", "--", self.script("kill -SEGV $$"))
        self.assertEqual(code, 1)
        self.assertIn("ended by SIGSEGV", text)

    def test_program_that_is_not_there(self):
        code, text = self.explore("--", "/nonexistent")
        self.assertEqual(code, 2)
        self.assertIn("/nonexistent cannot be run", text)

    def test_bad_options(self):
        for words in (["--orders", "best", "--", "true"], ["--seeds", "0", "--", "true"], []):
            code, _ = self.explore(*words)
            self.assertEqual(code, 2, words)
        code, text = self.explore("--", str(EXPLORE), "--ranks", "many")
        self.assertNotEqual(code, 0)
        self.assertIn("--ranks many: not a number", text)


if __name__ == "__main__":
    suite.main()
