"""Senders with the tags of a standard library that has std::execution."""

import suite


class Senders(suite.Suite):
    def test_completions(self):
        done = self.embedded("senders_standard")
        self.assertEqual(done.output.split("\n"),
                         ["done", "stopped", "7", "stopped", "bad apple", ""])


if __name__ == "__main__":
    suite.main()
