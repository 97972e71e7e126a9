"""Runs before main() and after its end are refused."""

import suite


class OutsideMain(suite.Suite):

    @suite.cases({
        "inside": "^inside: run returned 0.$",
        "before": "called before main.*before: run returned 1",
        "after": "called after the end of main.*after: run returned 1",
        "again": "inside: run returned 0.*after the end of main.*again: run returned 1",
        "exit": "inside: run returned 0.*after the end of main.*exit: run returned 1",
    })
    def test_run(self, pattern):
        when = self.id().rpartition("_")[2]
        result = self.embedded("outside_main", environment={"TEST_WHEN": when}, code=None)
        self.assertRegex(result.errors + result.output, f"(?s){pattern}")


if __name__ == "__main__":
    suite.main()
