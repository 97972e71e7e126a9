"""Runs before main() and after its end are refused."""

import suite

BEFORE, AFTER = "called before main", "called after the end of main"


class OutsideMain(suite.Suite):

    @suite.cases({
        "inside": ("inside", "inside: run returned 0", ""),
        "before": ("before", "before: run returned 1", BEFORE),
        "after": ("after", "after: run returned 1", AFTER),
        "again": ("again", "inside: run returned 0\nagain: run returned 1", AFTER),
        "exit": ("exit", "inside: run returned 0\nexit: run returned 1", AFTER),
    })
    def test_run(self, case):
        when, output, error = case
        result = self.embedded("outside_main", environment={"TEST_WHEN": when})
        self.assertEqual(result.output.strip(), output)
        self.assertIn(error, result.errors)


if __name__ == "__main__":
    suite.main()
