"""clang-tidy over the library, with the flags of a build by clang."""

import suite


class Sources(suite.Suite):

    def test_library(self):
        self.tidy("tidy", suite.build().folder, timeout=600)


if __name__ == "__main__":
    suite.main()
