"""The programs of tests/mpi, over each MPI in two processes. With mpi_nodes.py, where two of four
share memory at most, they have all ways of a message. mpi_layouts.py has other layouts."""

import suite

FAR = ["event_world_test", "flow_world_test", "memory_lifetime_test", "memory_world_test",
       "net_node_memory_test", "net_transport_failure_test", "net_transport_policy_test",
       "net_transport_test", "object_world_test", "runtime_call_test", "runtime_failure_test",
       "runtime_stream_test", "runtime_world_test"]
# Tests that take long or send little: not with several nodes.
LONG = ["runtime_huge_message_test", "runtime_stall_test"]
NEAR = ["net_transport_funneled_test", "net_transport_init_test", "net_transport_single_test",
        "runtime_large_arguments_test", "runtime_launch_test", *LONG]


class MpiSuite(suite.Suite):

    def mpis_of(self, name, layout):
        """Those on which a test runs in this layout: all. Under sanitizers, where it takes long, a
        test of several layouts has another one in each."""
        mpis = suite.build().mpis
        alternate = [*FAR, *LONG]
        if not suite.build().sanitize or name not in alternate or not mpis:
            return mpis
        return [mpis[(alternate.index(name) + layout) % len(mpis)]]

    def run_test(self, name, mpi, processes, near=None):
        """The program `name` on processes of which `near` at most share memory."""
        with self.subTest(test=name, mpi=mpi, processes=processes, near=near):
            environment = {"SHOAL_NODE_PROCESSES": str(near)} if near else {}
            self.launched(self.mpi_test(name, mpi), mpi, processes, [name], environment=environment)


class Programs(MpiSuite):

    def test_every_program_is_named(self):
        for mpi in suite.build().mpis:
            names = self.names_in("mpi_tests") + self.names_in(f"mpi_{mpi}_tests")
            self.assertEqual({name for name in names if name.endswith("_test")},
                             {*FAR, *NEAR, "net_rest_test"})

    def test_two_processes(self):
        for name in [*FAR, *NEAR, "net_rest_test"]:
            for mpi in self.mpis_of(name, 0):
                self.run_test(name, mpi, 2)


if __name__ == "__main__":
    suite.main()
