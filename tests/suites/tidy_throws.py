"""tools/check_throws over the library, with the flags of a build by clang."""

import suite


class Throws(suite.Suite):

    timeout = 600

    def test_throws_under_locks(self):
        build = suite.build()
        self.run_command([build.source / "tools/check_throws", build.folder])


if __name__ == "__main__":
    suite.main()
