"""Applications with planted errors (tests/planted/wrong_results.json): each says that its result is
wrong, once, and ends with exit code 1. Other suites have the same runs without an error."""

import suite


class WrongResults(suite.Suite):
    timeout = 60

    @suite.cases(suite.planted("wrong_results"))
    def test(self, bug):
        self.program(f"wrong_{bug['name']}")
        for run in bug["runs"]:
            with self.subTest(run):
                result = self.embedded(f"wrong_{bug['name']}",
                                       run.replace("DATA", str(suite.SMALL_DATA)), code=1)
                self.prints(result, "WRONG|wrong|BAD", times=1)


if __name__ == "__main__":
    suite.main()
