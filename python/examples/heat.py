"""The heat equation on a rod: each rank has a part, and exchanges the temperatures at its borders
with its neighbours by active messages. Needs numpy."""

import numpy
import shoal

CELLS, STEPS = 1000, 200

borders = {}  # promises of temperatures, by rank, side and step; embedded ranks share it


def border(rank, side, step):
    """The promise of the temperature beyond a border of a rank, made by its first user."""
    key = rank, side, step
    return borders.get(key) or borders.setdefault(key, shoal.Promise(f"border {key}"))


def receive(side, step, temperature):
    """Handler on the rank that needs the temperature."""
    border(shoal.current_world().rank, side, step).set_result(temperature)


def simulate(world):
    """Computes the part of this rank, step by step."""
    part = numpy.array_split(numpy.arange(CELLS), world.size)[world.rank]
    heat = numpy.zeros(len(part) + 2)  # with a cell of each neighbour
    heat[1:-1] = numpy.where((part > 400) & (part < 600), 100.0, 0.0)
    for step in range(STEPS):
        if world.rank > 0:
            world.send(world.rank - 1, receive, "right", step, heat[1])
        if world.rank < world.size - 1:
            world.send(world.rank + 1, receive, "left", step, heat[-2])
        for side, cell in (("left", 0), ("right", -1)):
            neighbour = world.rank + (1 if side == "right" else -1)
            if 0 <= neighbour < world.size:
                heat[cell] = border(world.rank, side, step).future.result()
                del borders[world.rank, side, step]
            else:  # the end of the rod is insulated
                heat[cell] = heat[1 if cell == 0 else -2]
        heat[1:-1] += 0.25 * (heat[:-2] - 2 * heat[1:-1] + heat[2:])
    return heat[1:-1]


def main(world):
    rod = numpy.concatenate(world.allgather(simulate(world)))
    return rod.sum(), rod.max()


if __name__ == "__main__":
    result = shoal.run(main, ranks=2)
    if result is not None:
        total, hottest = result
        print(f"total {total:.3f}, hottest {hottest:.3f}")
