"""The shell commands of the documents, with the programs of this build."""

import sys

import suite


class Shell(suite.Suite):

    timeout = 600

    def test_pages(self):
        for name in ("tutorial_hello", "tutorial_jacobi_flow", "tutorial_jacobi_graph", "bfs",
                     "insitu", "cholesky", "qr", "least_squares", "calibrate", "contention",
                     "barnes_hut", "components", "ebms", "gups", "hub_bfs", "jacobi", "kmeans",
                     "min_element", "nas_cg", "saxpy", "shoal-trace"):
            self.program(name)
        build = suite.build()
        mpirun = build.launchers[build.mpis[0]][:-1] if build.mpis else []
        self.run_command([sys.executable, build.source / "tests/docs/shell_test.py", "--build",
                          build.folder, f"--mpirun={' '.join(mpirun)}"])


if __name__ == "__main__":
    suite.main()
