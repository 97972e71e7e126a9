"""Threads of threading use a world while its run ends, or while the interpreter does.

    threads.py ends|fails|exits CALL
"""

import sys
import threading

import shoal

CALLS = {
    "waits": lambda world, events: events.wait_any([(shoal.SELF, "nothing")]),
    "fires": lambda world, events: events.fire(shoal.SELF, "much", 1),
    "fires_objects": lambda world, events: events.fire_object("much", 1),
    "locks": lambda world, events: events.try_lock("rows"),
    "submits": lambda world, events: world.submit(int, "7").result(),
    "spawns": lambda world, events: world.spawn(int, "7"),
    "calls": lambda world, events: world.call(world.size - 1, int, "7").result(),
    "reads": lambda world, events: world.size,
    "yields": lambda world, events: shoal.yield_now(),
}


class User(threading.Thread):
    """Calls again and again; a call ends as it should, is cancelled, or is refused."""

    def __init__(self, call, refusals, **options):
        super().__init__(**options)
        self.call = call
        self.refusals = refusals
        self.count = 0
        self.is_over = False
        self.wrong = []

    def run(self):
        while not self.is_over:
            self.count += 1
            try:
                result = self.call()
                if result not in (None, True, False, 2, 7):
                    self.wrong.append(result)
            except self.refusals:
                pass
            except BaseException as error:
                self.wrong.append(error)


def main_of(how, call, users):
    def main(world):
        events = shoal.Events("jobs")
        events.submit([(shoal.SELF, "much")], lambda got: None, persistent=True)
        if world.rank != 0:
            return
        refusal = shoal.Error if how == "fails" else shoal.CheckError
        user = User(lambda: call(world, events), (refusal, shoal.CancelledError),
                    daemon=how == "exits")
        users.append(user)
        user.start()
        while user.count < (1 if call is CALLS["waits"] else 20):
            shoal.sleep(1e-4)
        if how == "fails":
            raise LookupError("no more bananas")
    return main


def run(how, call):
    users = []
    try:
        shoal.run(main_of(how, call, users), ranks=2)
    except (shoal.StuckError, LookupError):
        pass
    return users


if __name__ == "__main__":
    how, call = sys.argv[1], CALLS[sys.argv[2]]
    sys.argv[1:] = []
    for _ in range(1 if how == "exits" else 5):
        for user in run(how, call):
            if how == "exits":
                continue
            user.is_over = True
            user.join(10)
            assert not user.is_alive(), "a call never ends"
            assert not user.wrong, user.wrong[:3]
    print("good")
