"""Every world of tests/model/check_completion, which knows the result of its search."""

import subprocess
import sys

import suite

CHECK = suite.SOURCE / "tests/model/check_completion"
WORLDS = subprocess.run([sys.executable, CHECK, "--list"], check=True, capture_output=True,
                        text=True).stdout.split()


class Completion(suite.Suite):
    timeout = 180

    @suite.cases(WORLDS)
    def test(self, world):
        build = suite.build()
        self.run_command([sys.executable, CHECK, world, "--launcher",
                          build.variables["SHOAL_TEST_CCACHE"],
                          "--scratch", build.folder / "tests/model_completion" / world])


if __name__ == "__main__":
    suite.main()
