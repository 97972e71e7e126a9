"""Applications, programs of the tutorial and random programs in many orders, with faults that must
not change any result: none fails."""

import suite

FAULTS = "delay:p=0.05,by=100us;delay:p=0.01,by=5ms;pause:rank=1,at=20us,for=2ms"
TILES = "--n 40 --tile 10"
SMALL = "--ranks 5 --workers 2"
PROGRAMS = {
    "cholesky": f"{SMALL} {TILES}",
    "gemm2d": f"{SMALL} {TILES}",
    "gemm3d": f"--ranks 8 --workers 2 {TILES}",
    "bfs": f"{SMALL} --scale 5 --roots 2",
    **{f"explore_random_{kind}program": SMALL
       for kind in ("", "event_", "object_", "flow_", "memory_")},
    **dict.fromkeys(suite.SIMULATED_TUTORIAL, SMALL),
}
INSITU = "--ranks 5 --workers 2 --timesteps 2 --fields 3 --size 4"


class Explore(suite.Suite):
    timeout = 240

    def explore(self, name, arguments, *options):
        self.run_command([suite.SOURCE / "tools/shoal-explore", *options, "--", self.program(name),
                          *arguments.split()], environment={"OPENBLAS_NUM_THREADS": "1"})

    @suite.cases({name: (name, arguments) for name, arguments in PROGRAMS.items()})
    def test(self, case):
        self.explore(*case, "--seeds", 100, "--faults", FAULTS)

    @suite.cases(["program --fails", "program --gets-stuck", "event_program --fails",
                  "event_program --gets-stuck"])
    def test_random(self, line):
        program, fate = line.split()
        self.explore(f"explore_random_{program}", f"{SMALL} {fate}", "--seeds", 50, "--faults",
                     FAULTS)

    @suite.cases(["async", "events", "level_am"])
    def test_bfs_without_faults(self, variant):
        self.explore("bfs", f"--ranks 4 --workers 2 --scale 6 --roots 4 --variant {variant}",
                     "--seeds", 50)

    def test_insitu_without_faults(self):
        self.explore("insitu", INSITU, "--seeds", 50)


if __name__ == "__main__":
    suite.main()
