"""Many tasks that wait at once, each with its own frames."""

import sys

import shoal


def main(world):
    count = int(world.args[1])
    gate = shoal.Promise("the gate")
    begun = [0]

    def wait(number, depth=3):
        if depth > 0:
            return wait(number, depth - 1)
        begun[0] += 1
        return gate.future.result() + number

    futures = [world.submit(wait, number) for number in range(count)]
    while begun[0] < count:
        shoal.yield_now()
    gate.set_result(1)
    assert shoal.gather(futures) == [number + 1 for number in range(count)]
    return count


if __name__ == "__main__":
    print(shoal.run(main), "tasks waited at once")
    states, deferred = shoal._core._counts()
    assert (states, deferred) == (0, 0), (states, deferred)
