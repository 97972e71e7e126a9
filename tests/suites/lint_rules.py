"""The rules of tools/, .clang-format and .clang-tidy hold, and refuse what they should;
lint_layers.py and lint_throws.py have more of that."""

import os
import re

import suite


class Rules(suite.Suite):

    def tool(self, name, *arguments, **options):
        return self.run_command([suite.build().source / "tools" / name, *arguments], **options)

    def test_layers(self):
        self.tool("check_layers")

    def test_docs(self):
        self.tool("check_docs")

    def test_packages_that_the_library_needs(self):
        """Those of the documents are those that tools/setup installs to build it."""
        source = suite.build().source
        setup = (source / "tools/setup").read_text()
        needed = set(re.search(r"library_packages=\((.*?)\)", setup, re.S).group(1).split())
        for page in ("README.md", "docs/getting_started.md"):
            line = re.search("^apt install ([^#\n]*)", (source / page).read_text(), re.M).group(1)
            self.assertEqual(set(line.split()) - {"make"}, needed - {"ccache"}, page)

    def test_pictures_of_performance(self):
        self.tool("site/plots", "--check")

    def test_options_in_the_documents(self):
        self.tool("check_docs", "--options", self.program("tutorial_hello"))

    def test_spelling(self):
        self.tool("lint", "spelling")
        refused = self.tool("lint", "spelling", suite.build().source / "tests/lint/bad_spelling.md",
                            code=suite.FAILURE)
        self.assertIn("==> received", refused.output)

    def test_format(self):
        self.tool("lint", "format")

    @suite.cases(["defects", "mutants", "wrong_results"])
    def test_text_of_each_planted_bug(self, table):
        """It stands in its file once, as tools/plant and the suites need it."""
        source = suite.build().source
        for bug in suite.planted(table).values():
            count = (source / bug["file"]).read_text().count(bug["from"])
            self.assertEqual(count, 1, f"{bug['name']} in {bug['file']}")

    def test_tidy_refuses_bad_code(self):
        self.tidy("bad")

    def test_tidy_of_another_machine(self):
        """The version that is pinned is not there: no other one takes its place."""
        folder = self.folder()
        (folder / "uname").write_text("#!/bin/sh\necho another\n")
        (folder / "uname").chmod(0o755)
        path = f"{folder}:{os.environ['PATH']}"
        skipped = self.tool("lint", "bad", environment={"PATH": path, "CLANG_TIDY": ""},
                            code=suite.SKIPPED)
        self.assertIn("nothing is checked without clang-tidy", skipped.errors)

    def test_wheel_without_network(self):
        refused = self.tool("wheel", "nothing==1", "sha256:0",
                            environment={"PIP_INDEX_URL": "http://127.0.0.1:9"}, code=suite.FAILURE)
        self.assertIn("tools/wheel: nothing==1 cannot be fetched from PyPI",
                      refused.output + refused.errors)


if __name__ == "__main__":
    suite.main()
