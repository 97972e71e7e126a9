"""Programs over hosts: applications, whose results are compared with serial ones, and the tests of
the transport and of the models. Each runs over one MPI with a process on each host, and over the
other with two, in turn."""

import hosts
import suite

# Applications, with arguments for a short run.
APPLICATIONS = [
    "cholesky --n 300 --tile 50",
    "cholesky --n 200 --tile 20",  # tiles in small messages
    "gemm2d --n 200 --tile 50",
    "bfs --scale 7 --roots 2",
    "insitu",
    "lu --n 160 --tile 40",
    "qr --n 160 --tile 40",
    "flow_cholesky --n 160 --tile 40",
    "least_squares --n 161 --tile 48",
    "jacobi --n 64 --iterations 5",
    "kmeans --points 400",
    "nas_cg --class S",
    "components",
    "hub_bfs",
    "saxpy",
    "min_element",
    "flow_broadcast --repeat 2 --bytes 8",  # of short and of large values, checked
    "flow_broadcast --repeat 2 --bytes 300000",
]
MEMORY = ["gups --log-size 10", "sparse_solve --grid 16", "barnes_hut --bodies 400",
          "ebms --particles 800", "gups --log-size 10 --gather",
          "ebms --particles 800 --prefetch"]
PAIRS = ["overlap --tasks 4 --messages 2",
         "contention measure --quick --repetitions 1 --duration 1 --memory 1 "
         "--message-bytes 65536 -o -"]

# Not runtime_stream_test, which looks into links that TCP treats differently, nor
# net_node_memory_test, which is about one host.
TRANSPORT = ["net_transport_init_test", "net_transport_test", "net_transport_policy_test",
             "net_transport_funneled_test", "net_transport_single_test",
             "net_transport_failure_test"]
WORLDS = ["runtime_failure_test", "runtime_huge_message_test", "flow_world_test",
          "object_world_test"]
WORLDS_OF_4 = ["runtime_call_test", "event_world_test", "memory_world_test"]  # 8 take long


class Programs(hosts.Hosts):

    def runs(self, command, mpi, count):
        """One worker each: every host believes that it has all processors of the machine."""
        name, _, arguments = command.partition(" ")
        with self.subTest(command, mpi=mpi, processes=count):
            program = self.on_mpi(name, mpi)
            workers = [] if name == "contention" else ["--workers", 1]
            self.launch(mpi, [program, *arguments.split(), *workers], count).end(120)

    def test_applications(self):
        for number, command in enumerate(APPLICATIONS):
            for index, mpi in enumerate(suite.build().mpis):
                self.runs(command, mpi, 4 * (1 + (number + index) % 2))
        for index, mpi in enumerate(suite.build().mpis):
            more = ["--ranks-per-process 2", ""][index % 2]  # it needs 8 ranks
            self.runs(f"gemm3d --n 160 --tile 40 {more}", mpi, 4 * (1 + index % 2))

    @hosts.over_each_mpi
    def test_calibrate(self, mpi):
        more = "--global-rma 16" if mpi == "mpich" else ""  # Open MPI 4.1 refuses it by default
        self.runs(f"calibrate net --repetitions 1 {more}", mpi, 4)

    @hosts.over_each_mpi
    def test_programs_of_two_processes(self, mpi):
        for command in PAIRS:
            self.runs(command, mpi, 2)

    def test_tutorial(self):
        for source in sorted((suite.build().source / "apps/tutorial").glob("*.cpp")):
            self.runs(f"tutorial_{source.stem}", suite.build().mpis[0], 4)

    @hosts.over_each_mpi
    def test_global_memory(self, mpi):
        """No heap of another host can be mapped."""
        more = ["ebms --particles 800 --global-rma 64"] if mpi == "mpich" else []
        for command in MEMORY + more:
            self.runs(command, mpi, 4)

    def part(self, name, mpi, count):
        """A program of tests/mpi."""
        with self.subTest(name, mpi=mpi, processes=count):
            program = self.program(self.mpi_test(name, mpi))
            self.launch(mpi, [program, name], count).end(120)

    def test_parts_of_the_library(self):
        for number, name in enumerate(TRANSPORT + WORLDS):
            for index, mpi in enumerate(suite.build().mpis):
                self.part(name, mpi, 4 * (1 + (number + index) % 2))
        for mpi in suite.build().mpis:
            self.part("net_rest_test", mpi, 2)
            for name in WORLDS_OF_4:
                self.part(name, mpi, 4)


if __name__ == "__main__":
    suite.main()
