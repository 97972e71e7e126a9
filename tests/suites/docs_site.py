"""The documentation site: `make docs`, whose warnings are errors."""

import shutil

import suite


class Site(suite.Suite):

    timeout = 500

    def test_site(self):
        """Guides, reference, links, search and the width of pages: see tools/site."""
        if shutil.which("doxygen") is None:
            self.skipTest("no doxygen")
        result = self.run_command([suite.SOURCE / "tools/site/build"], code=[0, suite.SKIPPED])
        if result.code == suite.SKIPPED:
            self.skipTest("the packages of the site cannot be fetched from PyPI")
        self.assertTrue((suite.SOURCE / "build/site/python_reference.html").exists())


if __name__ == "__main__":
    suite.main()
