"""Every public symbol is documented, as Doxygen reads the headers."""

import shutil

import suite


class Reference(suite.Suite):

    def test_every_symbol(self):
        if not shutil.which("doxygen"):
            self.skipTest("there is no doxygen")
        self.run_command([suite.build().source / "tools/site/check_reference"])


if __name__ == "__main__":
    suite.main()
