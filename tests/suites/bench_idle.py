"""Workers of a program that has nothing for them to do, for a minute."""

import json

import suite

SECONDS = 60


class Idle(suite.Suite):
    def test_a_minute(self):
        """Neither depends on how busy the machine is: the processor time of this process, and how
        often its threads sleep. The watch wakes up once a second, the main function once; the rest
        are what the kernel lets threads wait for."""
        done = self.embedded("runtime_shoal", f"idle --count {SECONDS} --workers 2 --repeat 1")
        values = json.loads(done.output)["values"]
        self.assertLess(values["seconds"], 0.001 * SECONDS, str(done))
        self.assertLess(values["sleeps"], 1.1 * SECONDS + 10, str(done))


if __name__ == "__main__":
    suite.main()
