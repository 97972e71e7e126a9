"""OpenMP, and a BLAS with threads, inside tasks: what docs/waiting.md says of them."""

import os
import re

import suite

PROCESSORS = len(os.sched_getaffinity(0))
SUM = 500500  # of a region on one worker
ELEMENT = 400  # of a product on one worker


class Threads(suite.Suite):

    def run_case(self, case, workers, options="", **threads):
        environment = {"TEST_CASE": case, **{name: str(count) for name, count in threads.items()}}
        return self.embedded("openmp_tasks", f"--workers {workers} {options}",
                             environment=environment)

    def threads(self, case, workers, total, **threads):
        """(of the process, of those that began in the tasks)"""
        done = self.run_case(case, workers, **threads)
        found = re.match(r"(\d+) threads, (\d+) more than before, sum (\d+)", done.output)
        self.assertTrue(found, str(done))
        self.assertEqual(int(found[3]), total * workers, str(done))
        return int(found[1]), int(found[2])

    def test_each_worker_has_threads_of_its_own(self):
        for workers in (1, 2):
            for threads in (1, 3):
                _, more = self.threads("regions", workers, SUM, OMP_NUM_THREADS=threads)
                self.assertEqual(more, workers * (threads - 1), f"{workers} workers")

    def test_one_for_each_processor_by_default(self):
        """Without the variable, which the machine may set."""
        os.environ.pop("OMP_NUM_THREADS", None)
        _, more = self.threads("regions", 2, SUM)
        self.assertEqual(more, 2 * (PROCESSORS - 1))

    def test_blas(self):
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ.pop(name, None)
        for workers in (1, 2):
            alone, _ = self.threads("regions", workers, SUM, OMP_NUM_THREADS=1,
                                    OPENBLAS_NUM_THREADS=1)
            for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
                found, _ = self.threads("blas", workers, ELEMENT, **{variable: 1})
                self.assertEqual(found, alone, variable)
            found, more = self.threads("blas", workers, ELEMENT)
            if "one set" in self.run_case("blas", workers).output:
                self.assertEqual((found, more), (alone + PROCESSORS - 1, 0))

    def test_binding(self):
        """Threads of a region have that of their worker."""
        if PROCESSORS == 1:
            self.skipTest("one processor")
        self.prints(self.run_case("processors", 1, OMP_NUM_THREADS=2), "^all$")
        self.prints(self.run_case("processors", 1, "--pin pu", OMP_NUM_THREADS=2),
                    "^one processor$")

    def test_tasks_of_a_region(self):
        self.prints(self.run_case("spawn", 2, OMP_NUM_THREADS=3), "^3 tasks$")

    def test_waits_before_a_region(self):
        """In tasks that continue on other workers."""
        self.prints(self.run_case("wait", 2, OMP_NUM_THREADS=2), f"^sum {2 * 8 * SUM}$")


if __name__ == "__main__":
    suite.main()
