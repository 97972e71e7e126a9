"""<shoal/event.h>: every call from C, and how failures reach C."""

import suite


class Events(suite.Suite):

    def test_every_call(self):
        self.everywhere("c_event_calls", "mine --workers 2", ranks=[3])
        self.embedded("c_event_calls", "mine --ranks 1 --workers 1")

    def test_every_call_simulated(self):
        self.embedded("c_event_calls", "mine --sim-check --ranks 4 --workers 2 --sim-order uniform")

    def test_machine_events(self):
        for workers in (1, 2):
            self.embedded("c_machine_events", f"--workers {workers}")

    def test_failures(self):
        """Exit code 3: the codes were those expected. 1: the run itself failed, as it should."""
        codes = {"task": 3, "stuck": 3, "stuck_waiting": 3, "repaired": 3, "wait_in_task": 3,
                 "task_in_the_end": 1, "repaired_badly": 1}
        for case, code in codes.items():
            for ranks in (1, 3):
                with self.subTest(case=case, ranks=ranks):
                    self.embedded("c_event_failures", f"{case} --ranks {ranks}", code=code)


if __name__ == "__main__":
    suite.main()
