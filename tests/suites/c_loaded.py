"""The shared libraries in hosts that load them by dlopen(): a C program, and this interpreter."""

import ctypes
import struct

import suite

# glibc keeps some 1,600 bytes for all libraries that are loaded after the start.
THREAD_LOCAL_BYTES_MAX = 255
PT_TLS = 7
SHOAL_INT, SHOAL_SELF = 1, -3


def thread_local_bytes(path):
    """MemSiz of PT_TLS of a 64-bit ELF file of this machine's byte order."""
    with open(path, "rb") as file:
        header = file.read(64)
        assert header[:5] == b"\x7fELF\x02", path
        offset, = struct.unpack_from("=Q", header, 32)
        size, count = struct.unpack_from("=HH", header, 54)
        file.seek(offset)
        segments = [file.read(size) for _ in range(count)]
    return sum(struct.unpack_from("=Q", one, 40)[0] for one in segments
               if struct.unpack_from("=I", one)[0] == PT_TLS)


class Payload(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("count", ctypes.c_size_t), ("data", ctypes.c_void_p)]


class Dependency(ctypes.Structure):
    _fields_ = [("source", ctypes.c_int), ("name", ctypes.c_char_p)]


class Event(ctypes.Structure):
    _fields_ = [("source", ctypes.c_int), ("name", ctypes.c_char_p), ("type", ctypes.c_int),
                ("count", ctypes.c_size_t), ("data", ctypes.c_void_p)]


TaskFunction = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Event), ctypes.c_size_t,
                                ctypes.c_void_p)
MainFunction = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class Task(ctypes.Structure):
    _fields_ = [("function", TaskFunction), ("user", ctypes.c_void_p), ("name", ctypes.c_char_p),
                ("persistent", ctypes.c_int), ("greedy", ctypes.c_int),
                ("priority", ctypes.c_int)]


class LoadedLibraries(suite.Suite):

    def setUp(self):
        self.c, self.edat = self.program("libshoal_c.so"), self.program("libshoal_edat.so")

    def test_thread_local_data_is_a_few_pointers(self):
        sizes = {path: thread_local_bytes(path) for path in (self.c, self.edat)}
        self.assertLessEqual(sum(sizes.values()), THREAD_LOCAL_BYTES_MAX, sizes)

    def test_c_host_runs_events(self):
        for libraries in ([self.c], [self.c, self.edat]):
            self.embedded("c_load_library", libraries)

    def test_interpreter_runs_events(self):
        shoal = ctypes.CDLL(self.c)
        shoal.shoal_events_make.restype = ctypes.c_void_p
        shoal.shoal_events_make.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        shoal.shoal_events_submit.argtypes = [ctypes.c_void_p, ctypes.POINTER(Task),
                                              ctypes.POINTER(Dependency), ctypes.c_size_t]
        shoal.shoal_events_fire.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p,
                                            ctypes.POINTER(Payload)]
        shoal.shoal_wait.argtypes = [ctypes.c_void_p]
        got = []

        @TaskFunction
        def take(events, count, _):
            got.append((count, ctypes.cast(events[0].data, ctypes.POINTER(ctypes.c_int))[0]))
            return 0

        @MainFunction
        def main(world, _):
            events = shoal.shoal_events_make(world, b"loaded")
            number = ctypes.c_int(42)
            payload = Payload(SHOAL_INT, 1, ctypes.cast(ctypes.byref(number), ctypes.c_void_p))
            dependency = Dependency(SHOAL_SELF, b"number")
            codes = [shoal.shoal_events_submit(events, Task(take), dependency, 1),
                     shoal.shoal_events_fire(events, SHOAL_SELF, b"number", payload),
                     shoal.shoal_wait(world)]
            return 0 if codes == [0, 0, 0] else 1

        words = (ctypes.c_char_p * 4)(b"interpreter", b"--workers", b"1", None)
        self.assertEqual(shoal.shoal_run(3, words, main, None), 0)
        self.assertEqual(got, [(1, 42)])


if __name__ == "__main__":
    suite.main()
