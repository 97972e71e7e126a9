"""Wrong calls: each is a Python exception that says what, where, and what to do."""

import threading

import shoal
from support import refuses


def local():
    return 1


def waits():
    """As a handler it must not wait."""
    shoal.sleep(1e-6)


def unsendable():
    return threading.Lock()


class Hasty(shoal.Object):
    def __init__(self):
        self.balance = 0


def main(world):
    other = (world.rank + 1) % world.size
    refuses(shoal.CheckError, "no rank 99: the world has", world.call, 99, local)
    refuses(shoal.CheckError, "no rank -1", world.send, -1, local)
    refuses(shoal.CheckError, "the rank is 'a'", world.call, "a", local)
    refuses(shoal.CheckError, "cannot be called", world.submit, 3)
    refuses(shoal.CheckError, "cannot be called", world.send, 0, None)
    refuses(shoal.CheckError, "argument of a call of local cannot be sent.*lock", world.call, other,
            local, threading.Lock())
    refuses(shoal.CheckError, "result of unsendable cannot be sent", world.call(
        other, unsendable).result)
    refuses(shoal.CheckError, "Hasty.__init__.. has not called super", Hasty().__getitem__, 0)
    assert shoal.task(local).on(other)().result() == 1
    refuses(TypeError, "World belongs to its rank", world.__reduce_ex__, 5)
    refuses(shoal.CheckError, "seconds: give a number", shoal.sleep, -1)
    refuses(shoal.CheckError, "got return_when", shoal.wait, [], return_when="never")
    refuses(shoal.CheckError, "takes an exception", shoal.Promise().set_exception, "text")
    refuses(shoal.ConfigError, "inside a run", shoal.run, main)
    promise = shoal.Promise("twice")
    promise.set_result(1)
    refuses(shoal.CheckError, "fulfilled already", promise.set_result, 2)
    mutex = shoal.Mutex("mine")
    refuses(shoal.CheckError, "mine", mutex.unlock)
    with mutex:
        refuses(shoal.CheckError, "mine", mutex.lock)
    future = world.submit(local)
    assert future.result() == 1
    refuses(TypeError, "belongs to its rank", future.__reduce_ex__, 5)
    world.wait()
    return world, future


if __name__ == "__main__":
    refuses(shoal.CheckError, "no world here", shoal.current_world)
    refuses(shoal.CheckError, "takes a function of a world", shoal.run, 3)
    refuses(shoal.ConfigError, "no option 'worker'.*mean 'workers'", shoal.run, main, worker=4)
    refuses(shoal.ConfigError, "'two'", shoal.run, main, args=[], sim_seed="two")
    refuses(shoal.CheckError, "no world here", shoal.task(local))
    refuses(shoal.CheckError, "decorates a function", shoal.task, 3)
    result = shoal.run(main)
    if result is not None:
        world, future = result
        refuses(shoal.CheckError, "run of this world has ended", world.barrier)
        assert future.result() == 1
        assert "ended" in repr(world)
        print("good")
