"""Costs of Python programs with shoal and its peers: prints one result as JSON.

    bench/python_kernels KERNEL --side SIDE [options]

Kernels: tasks, call, bandwidth, import, waiting. Exit code 77, with a line `skipped: REASON` on
standard error, where a package of the side is missing.
"""

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import threading
import time


def need(name):
    """A module. Without a peer its side is skipped; without shoal something is wrong."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if name == "shoal":
            sys.exit(f"error: {sys.executable} cannot import shoal: {error}: the package of this "
                     "build is for another Python, or was not built")
        print(f"skipped: {error}: bench/python/peers installs it", file=sys.stderr)
        sys.exit(77)


def report(options, values):
    print(json.dumps({"kernel": options.kernel, "side": options.side, "values": values,
                      "config": vars(options), "verified": True}))


def increment(x):
    return x + 1


def best_of(repeat, run):
    """The least of several times, as timeit does: other programs of the machine only add to it."""
    return min(run() for _ in range(repeat))


# --- tasks: submit them all, and take all results


class Tasks:
    """Seconds of `count` tasks, each the call of a function that only adds."""

    def __init__(self, options):
        self.options = options
        self.count = options.count
        self.workers = options.workers
        self.repeat = options.repeat
        self.expected = list(range(1, self.count + 1))

    def timed(self, run):
        def once():
            start = time.perf_counter()
            results = run()
            seconds = time.perf_counter() - start
            assert list(results) == self.expected
            return seconds
        once()  # the first one starts threads and fills caches
        return {"task_us": best_of(self.repeat, once) / self.count * 1e6}

    def shoal(self):
        shoal = need("shoal")
        task = shoal.task(increment)

        def main(world):
            return self.timed(lambda: shoal.gather([task(i) for i in range(self.count)]))
        return shoal.run(main, workers=self.workers, args=[])

    def threads(self):
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(self.workers) as pool:
            return self.timed(lambda: [future.result() for future in [
                pool.submit(increment, i) for i in range(self.count)]])

    def dask(self):
        threaded = need("dask.threaded")
        graph = {f"task {i}": (increment, i) for i in range(self.count)}
        return self.timed(lambda: threaded.get(graph, list(graph),
                                               num_workers=self.workers))

    def ray(self):
        ray = need("ray")
        ray.init(num_cpus=self.workers, include_dashboard=False, log_to_driver=False,
                 logging_level="error")
        task = ray.remote(increment)
        return self.timed(lambda: ray.get([task.remote(i) for i in range(self.count)]))

    def charm4py(self):
        """Methods of a chare on this process."""
        run_charm(self, on=0, measure=lambda chare: self.timed(
            lambda: [future.get() for future in [chare.increment(i, ret=True)
                                                 for i in range(self.count)]]))


def run_charm(kernel, on, measure):
    """Runs a program of charm4py with a chare on a process, and reports what `measure` returns: the
    runtime of charm4py ends the process."""
    charm4py = need("charm4py")

    class Adder(charm4py.Chare):
        def increment(self, x):
            return increment(x)

    def main(arguments):
        report(kernel.options, measure(charm4py.Chare(Adder, onPE=on)))
        sys.stdout.flush()
        charm4py.charm.exit()
    charm4py.charm.options.quiet = True
    charm4py.charm.start(main, classes=[Adder])


# --- calls and arrays between two processes


class Pair:
    """Two processes of a launch of MPI. The second one answers."""

    def __init__(self, options):
        self.options = options
        self.count = options.count
        self.size = options.size
        self.repeat = options.repeat

    def shoal_main(self, measure):
        shoal = need("shoal")

        def main(world):
            if world.size != 2:
                raise SystemExit("this kernel needs two processes")
            return measure(shoal, world) if world.rank == 0 else None
        return shoal.run(main, args=[])

    def mpi4py_main(self, measure):
        mpi = need("mpi4py.MPI")
        world = mpi.COMM_WORLD
        if world.size != 2:
            raise SystemExit("this kernel needs two processes")
        return measure(mpi, world)


class Call(Pair):
    """Microseconds from a call of a function on the other process until its result is there."""

    def timed(self, one):
        for i in range(self.count // 10 + 1):
            one(i)

        def once():
            start = time.perf_counter()
            for i in range(self.count):
                one(i)
            return (time.perf_counter() - start) / self.count
        return {"call_us": best_of(self.repeat, once) * 1e6}

    def shoal(self):
        def measure(_, world):
            def one(i):
                assert world.call(1, increment, i).result() == i + 1
            return self.timed(one)
        return self.shoal_main(measure)

    def mpi4py(self):
        """A ping-pong of pickled objects."""
        def measure(_, world):
            if world.rank == 1:
                while (value := world.recv(source=0)) is not None:
                    world.send(increment(value), dest=0)
                return None

            def one(i):
                world.send(i, dest=1)
                assert world.recv(source=1) == i + 1
            result = self.timed(one)
            world.send(None, dest=1)
            return result
        return self.mpi4py_main(measure)

    def charm4py(self):
        """A method of a chare on the second process, which its own launcher starts."""
        need("charm4py")
        if "CHARM_STARTED" not in os.environ:
            os.environ["CHARM_STARTED"] = "yes"
            os.execv(sys.executable, [sys.executable, "-m", "charmrun.start", "+p2", "++quiet",
                                      *sys.argv])

        def measure(chare):
            def one(i):
                assert chare.increment(i, ret=True).get() == i + 1
            return self.timed(one)
        run_charm(self, on=1, measure=measure)


def take(array):
    return len(array)


class Bandwidth(Pair):
    """Bandwidth of arrays of `size` bytes to the other process, which answers when it has them."""

    WARM_UPS = 5  # rounds until memory that was freed serves those that follow

    def __init__(self, options):
        super().__init__(options)
        self.read_only = options.read_only

    def timed(self, send_all):
        for _ in range(self.WARM_UPS):
            send_all()

        def once():
            start = time.perf_counter()
            send_all()
            return time.perf_counter() - start
        return {"gb_per_s": self.size * self.count / best_of(self.repeat, once) / 1e9}

    def shoal(self):
        numpy = need("numpy")

        def measure(shoal, world):
            array = numpy.ones(self.size // 8)
            array.flags.writeable = not self.read_only

            def send_all():
                sent = shoal.gather([world.call(1, take, array) for _ in range(self.count)])
                assert sent == [len(array)] * self.count
            return self.timed(send_all)
        return self.shoal_main(measure)

    def shoal_put(self):
        """Into memory that the other process has, as mpi4py() does."""
        numpy, shoal = need("numpy"), need("shoal")

        def main(world):
            if world.size != 2:
                raise SystemExit("this kernel needs two processes")
            array = numpy.ones(self.size // 8)
            memory = shoal.GlobalArray(2 * len(array))
            world.barrier()
            result = None
            if world.rank == 0:
                def put_all():
                    for _ in range(self.count):
                        memory[len(array):] = array
                    memory.quiet()
                result = self.timed(put_all)
                assert memory[len(memory) - 1] == array[-1]
            world.barrier()
            return result
        return shoal.run(main, args=[])

    def mpi4py(self):
        """Into an array that the other process has."""
        return self.send_and_receive(lambda numpy, array: array)

    def mpi4py_new(self):
        """Each into a new array, as arguments of calls are."""
        return self.send_and_receive(lambda numpy, array: numpy.empty_like(array))

    def send_and_receive(self, memory_like):
        numpy = need("numpy")

        def measure(mpi, world):
            array = numpy.ones(self.size // 8)
            answer = numpy.zeros(1)

            def send_all():
                mpi.Request.Waitall([world.Isend(array, dest=1) for _ in range(self.count)])
                world.Recv(answer, source=1)

            def receive_all():
                received = []
                for _ in range(self.count):
                    received.append(memory_like(numpy, array))
                    world.Recv(received[-1], source=0)
                world.Send(answer, dest=0)
            if world.rank == 0:
                return self.timed(send_all)
            for _ in range(self.WARM_UPS + self.repeat):
                receive_all()
            return None
        return self.mpi4py_main(measure)


# --- import, and memory


class Import:
    """Milliseconds of the import of a package, beyond those of an empty program."""

    MODULES = {"shoal": "shoal", "numpy": "numpy", "mpi4py": "mpi4py.MPI", "dask": "dask.threaded",
               "ray": "ray", "asyncio": "asyncio"}

    def __init__(self, options):
        self.repeat = options.repeat

    def __getattr__(self, side):
        return lambda: self.measure(self.MODULES[side])

    def measure(self, module):
        need(module.partition(".")[0])

        def once(program):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True)
            return time.perf_counter() - start
        once(f"import {module}")  # compiles, and reads the files from disk
        pairs = [once(f"import {module}") - once("") for _ in range(self.repeat)]
        return {"import_ms": statistics.median(pairs) * 1e3}


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Waiting:
    """Bytes of each of `count` tasks that wait, with its future."""

    def __init__(self, options):
        self.count = options.count
        self.workers = options.workers

    def shoal(self):
        shoal = need("shoal")

        def main(world):
            shoal.gather([shoal.task(increment)(i) for i in range(100)])
            gate = shoal.Promise("the gate")
            reached = shoal.Semaphore(0, "tasks that wait")

            @shoal.task
            def waits(x):
                reached.release()
                return gate.future.result() + x
            before = resident_bytes()
            futures = [waits(i) for i in range(self.count)]
            for _ in futures:
                reached.acquire()
            used = resident_bytes() - before
            gate.set_result(1)
            assert shoal.gather(futures) == list(range(1, self.count + 1))
            return {"bytes": used / self.count}
        return shoal.run(main, workers=self.workers, args=[])

    def threads(self):
        from concurrent.futures import ThreadPoolExecutor
        gate = threading.Event()
        reached = threading.Semaphore(0)

        def waits(x):
            reached.release()
            gate.wait()
            return x + 1
        before = resident_bytes()
        with ThreadPoolExecutor(self.count) as pool:
            futures = [pool.submit(waits, i) for i in range(self.count)]
            for _ in futures:
                reached.acquire()
            used = resident_bytes() - before
            gate.set()
            assert [future.result() for future in futures] == list(range(1, self.count + 1))
        return {"bytes": used / self.count}

    def asyncio(self):
        import asyncio

        async def main():
            gate = asyncio.get_running_loop().create_future()

            async def waits(x):
                return await gate + x
            before = resident_bytes()
            tasks = [asyncio.ensure_future(waits(i)) for i in range(self.count)]
            await asyncio.sleep(0)
            used = resident_bytes() - before
            gate.set_result(1)
            assert await asyncio.gather(*tasks) == list(range(1, self.count + 1))
            return {"bytes": used / self.count}
        return asyncio.run(main())


KERNELS = {"tasks": Tasks, "call": Call, "bandwidth": Bandwidth, "import": Import,
           "waiting": Waiting}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernel", choices=list(KERNELS))
    parser.add_argument("--side", required=True)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--size", type=int, default=1 << 20)
    parser.add_argument("--read-only", action="store_true", help="arrays that do not change")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=5)
    # charmrun leaves that word of its own in.
    options = parser.parse_args([word for word in sys.argv[1:] if word != "++quiet"])
    values = getattr(KERNELS[options.kernel](options), options.side)()
    if values is not None:  # this process has rank 0
        report(options, values)


if __name__ == "__main__":
    main()
