"""In-situ analytics: a simulation in C++, the extension module `simulation`, goes on while tasks of
Python examine the arrays that it has made. Needs numpy, and the module: see CMakeLists.txt."""

import numpy
import shoal
import simulation

CELLS, STEPS = 400, 200


@shoal.task
def analyse(heat):
    """Heat of this rank's part, and its steepest slope. The array is that of C++, not a copy."""
    assert not heat.flags.owndata and not heat.flags.writeable
    return heat.sum(), abs(numpy.diff(heat)).max()


def main(world):
    rod = simulation.Rod(world, CELLS)
    analyses = [analyse(rod.advance(STEPS // 20)) for _ in range(20)]
    heat, slopes = map(numpy.array, zip(*shoal.gather(analyses)))
    heat = world.allreduce(heat, shoal.SUM)
    assert (numpy.diff(heat) > 0).all()
    return heat[-1], world.allreduce(slopes, shoal.MAX).max()


if __name__ == "__main__":
    result = shoal.run(main, ranks=2)
    if result is not None:
        total, slope = result
        print(f"total {total:.3f}, steepest {slope:.3f}")
