"""Patterns of messages on 4 hosts with slow links take as long as the simulator predicts.

The model's parameters are measured between two hosts. Links are so slow that nothing else counts in
patterns of few large messages; an attempt that another program disturbs is repeated. Operations in
many segments are printed only: each segment waits for processors that the hosts share."""

import re

import hosts
import suite

RATE = "200mbit"
BYTES = 1_000_000
REPETITIONS = 3
ATTEMPTS = 3
TOLERANCE = 0.2
COMPARED = ["many_to_one", "gather", "reduce"]
PRINTED = ["reduce_array", "allreduce_array", "alltoall"]


def times_of(output):
    """Microseconds, by pattern."""
    return {name: float(time) for name, time in re.findall(r"^(\w+) ([\d.]+)$", output, re.M)}


def model_of(real):
    """The network: a payload of more than 64 KiB is sent once the receiver has answered."""
    latency_ns = real["round_trip"] * 1000 / 2
    byte_gap_ps = (real["one_to_one"] - 2 * real["round_trip"]) * 1e6 / BYTES
    return f"loggp:{latency_ns:.0f}ns,0ns,0ns,{byte_gap_ps:.0f}ps,64K"


class Prediction(hosts.Hosts):
    timeout = 300

    def compare(self, mpi):
        """One line for each pattern, and whether all are within the tolerance."""
        program = self.on_mpi("cluster_patterns", mpi)
        command = [program, BYTES, REPETITIONS, "--workers", 1]
        real = times_of(self.launch(mpi, command).end(120))
        simulated = times_of(self.embedded(
            "cluster_patterns",
            [BYTES, 1, "--sim", "--ranks", 4, "--sim-net", model_of(real)]).output)
        lines = [f"{model_of(real)}"]
        good = True
        for name in COMPARED + PRINTED:
            error = simulated[name] / real[name] - 1
            good = good and (name in PRINTED or abs(error) <= TOLERANCE)
            lines.append(f"{name:15} real {real[name]:9.0f} us, predicted "
                         f"{simulated[name]:9.0f} us: {100 * error:+.1f} %")
        return "\n".join(lines), good

    @hosts.over_each_mpi
    def test_patterns(self, mpi):
        hosts.cluster("limit", RATE)
        attempts = []
        for _ in range(ATTEMPTS):
            lines, good = self.compare(mpi)
            attempts.append(lines)
            if good:
                print(f"{mpi}: {lines}")
                return
        self.fail("\n".join(attempts))


if __name__ == "__main__":
    suite.main()
