"""A parameter sweep over all ranks. Some runs of the experiment fail, and are tried again; some
fail for good, and are reported."""

import shoal

failures = {}


@shoal.task(retries=3)
def experiment(temperature, pressure):
    """A measurement with an instrument that is shaky at first."""
    key = (temperature, pressure)
    failures[key] = failures.get(key, 0) + 1
    if failures[key] < 1 + temperature % 3:
        raise OSError("the instrument is not ready")
    if temperature == pressure:
        raise ValueError(f"no state at {temperature} K and {pressure} bar")
    return temperature * pressure


def main(world):
    if world.rank != 0:
        return None
    points = [(t, p) for t in range(5) for p in range(5)]
    futures = {
        point: experiment.on(number % world.size)(*point) for number, point in enumerate(points)
    }
    done, _ = shoal.wait(futures.values())
    failed = [point for point, future in futures.items() if future.exception() is not None]
    total = sum(future.result() for future in done if future.exception() is None)
    return total, failed


if __name__ == "__main__":
    result = shoal.run(main, ranks=2)
    if result is not None:
        total, failed = result
        print(f"total {total}, failed {failed}")
