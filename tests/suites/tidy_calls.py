"""tools/check_calls over the library, with the flags of a build by clang."""

import suite


class Calls(suite.Suite):

    def test_library(self):
        build = suite.build()
        self.run_command([build.source / "tools/check_calls", build.folder], timeout=600)


if __name__ == "__main__":
    suite.main()
