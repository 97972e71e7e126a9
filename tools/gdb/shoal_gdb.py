"""Commands for gdb that show the parked tasks of a program that uses shoal.

    (gdb) source shoal_gdb.py
    (gdb) shoal tasks           parked tasks of all ranks of the process, and what they wait in
    (gdb) shoal stacks [N ...]  the same with their stacks: of all, or of those with these numbers

They work on a running process and on a core file, on x86-64, and call nothing in the process.
Every build of shoal has the debug information that they need, unless it was stripped. Of classes
in code without such information they know the name only.
"""

import re

import gdb
import gdb.unwinder

SHOWN_FRAMES = 64
# Where a context that was left keeps its registers: behind the pointer that Boost.Context gives
# for it (jump_x86_64_sysv_elf_gas.S of Boost 1.61 and later).
SAVED_REGISTERS = {"r12": 0x08, "r13": 0x10, "r14": 0x18, "r15": 0x20, "rbx": 0x28, "rbp": 0x30,
                   "rip": 0x38}
STACK_BEHIND = 0x40


# --- reading the library's data

def target(pointer):
    """What a pointer points to, as an object of its own class."""
    return pointer.cast(pointer.dynamic_type).dereference()


def target_task(pointer):
    """The same for a task. gdb's own way finds no class that a lambda is part of; `this` has it in
    the destructor, the first function of the object's table."""
    address = int(pointer)
    table = gdb.Value(address).cast(gdb.lookup_type("unsigned long").pointer().pointer())
    for slot in range(2):
        block = gdb.block_for_pc(int(table.dereference()[slot]))
        while block is not None and block.function is None:
            block = block.superblock
        for symbol in block or ():
            if symbol.name == "this":
                own = symbol.type.strip_typedefs().target().unqualified()
                return gdb.Value(address).cast(own.pointer()).dereference()
    return pointer.dereference()


def unique_target(unique):
    """A std::unique_ptr is a pointer."""
    kind = unique.type.strip_typedefs().template_argument(0)
    return unique.address.cast(kind.pointer().pointer()).dereference().dereference()


def vector_items(vector):
    begin, end = vector["_M_impl"]["_M_start"], vector["_M_impl"]["_M_finish"]
    return [begin[i] for i in range(int(end - begin))]


def text_of(value):
    return value["_M_dataplus"]["_M_p"].string(length=int(value["_M_string_length"]))


def field(value, wanted):
    """The member of an object or of its bases; None if there is none."""
    for one in value.type.strip_typedefs().fields():
        if one.is_base_class:
            # Not value[one]: gdb would look for the class of the object, and not find it for some.
            base = gdb.Value(int(value.address) + one.bitpos // 8).cast(one.type.pointer())
            found = field(base.dereference(), wanted)
            if found is not None:
                return found
        elif one.name == wanted:
            return value[one]
    return None


def class_by_symbol(address):
    """The class of an object with virtual functions by the symbol of their table, or None."""
    table = int(gdb.Value(address).cast(gdb.lookup_type("unsigned long").pointer()).dereference())
    symbol = gdb.execute("info symbol 0x%x" % table, to_string=True)
    found = re.match(r"vtable for (.*?)(?: \+ \d+)?(?: in section .*)?$", symbol.strip())
    return found.group(1) if found is not None else None


def title(value):
    """The name that an object keeps, and its class."""
    name = field(value, "name_")
    kind = value.type.strip_typedefs().name
    if kind in ("shoal::sched::Task", "shoal::sched::Waitable"):  # its own has no information
        kind = class_by_symbol(int(value.address)) or kind
    kind = kind.replace("shoal::sched::", "").replace("shoal::", "")
    try:
        return "'%s' (%s)" % (text_of(name), kind) if name is not None else "(%s)" % kind
    except gdb.error:
        return "(%s)" % kind


def schedulers():
    """Each rank of the process has one; its workers' threads know them."""
    symbol = gdb.lookup_static_symbol("shoal::sched::(anonymous namespace)::t_worker")
    if symbol is None:
        raise gdb.GdbError("shoal's debug information is missing here: it was stripped from the "
                           "program or from shoal's library (install it without --strip), or the "
                           "program does not run yet: use this command while it runs, or on its "
                           "core file")
    selected = gdb.selected_thread()
    if selected is None:
        raise gdb.GdbError("there is no process: run the program, attach to it or load a core file")
    found = {}
    try:
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            worker = symbol.value(gdb.newest_frame())
            if int(worker) != 0:
                scheduler = worker["scheduler_"].referenced_value()
                found[int(scheduler.address)] = scheduler
    finally:
        selected.switch()
    return sorted(found.values(), key=rank_of)


def rank_of(scheduler):
    return int(scheduler["options_"]["rank"]["value_"])


class ParkedTask:
    def __init__(self, rank, waiter):
        self.rank = rank
        task = field(waiter, "task")
        if int(task) == 0:
            self.name = "a thread of the program"
        else:
            task = target_task(task)
            is_main = int(field(task, "scope")) == 0
            self.name = "the main function" if is_main else title(task)
        waitable = field(waiter, "waitable")
        what = field(waiter, "what")
        if int(waitable) != 0:
            self.place = title(target(waitable))
        else:
            self.place = what.string() if int(what) != 0 else "something unknown"
        resume = field(waiter, "resume_")  # without it there is no stack to go on with
        self.context = None
        if resume is not None:
            fiber = resume["fiber_"].referenced_value()["fiber"]
            self.context = int(fiber["context_"]["fctx_"])

    def line(self, number):
        return "#%d rank %d: %s waits in %s" % (number, self.rank, self.name, self.place)


def parked_tasks():
    tasks = []
    ranks = schedulers()
    kind = gdb.lookup_type("shoal::sched::ParkedWaiter").pointer()
    for scheduler in ranks:
        for unique in vector_items(scheduler["waiting_"]["lists_"]):
            waiter = unique_target(unique)["list_"]["first_"].cast(kind)
            while int(waiter) != 0:
                whole = target(waiter)
                tasks.append(ParkedTask(rank_of(scheduler), whole))
                waiter = field(whole, "place")["next"].cast(kind)
    return tasks


# --- their stacks

class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


class ParkedUnwinder(gdb.unwinder.Unwinder):
    """While it has registers, pretends that a parked stack called the newest frame of a thread:
    that works on a core file, too, where registers cannot be set."""

    def __init__(self):
        super().__init__("shoal parked tasks")
        self.registers = None
        self.newest = None

    def __call__(self, pending):
        if self.registers is None:
            return None
        sp, pc = pending.read_register("rsp"), pending.read_register("rip")
        if (int(sp), int(pc)) != self.newest:
            return None
        info = pending.create_unwind_info(FrameId(sp, pc))
        for name, value in self.registers.items():
            info.add_saved_register(name, gdb.Value(value).cast(pending.read_register(name).type))
        return info

    def frames(self, context):
        """(name, pc, file, line) of the frames, innermost first."""
        word = gdb.lookup_type("unsigned long")

        def load(address):
            return int(gdb.Value(address).cast(word.pointer()).dereference())

        newest = gdb.newest_frame()
        self.newest = (int(newest.read_register("rsp")), int(newest.read_register("rip")))
        self.registers = {name: load(context + at) for name, at in SAVED_REGISTERS.items()}
        self.registers["rsp"] = context + STACK_BEHIND
        gdb.invalidate_cached_frames()
        try:
            frame = gdb.newest_frame().older()
            while frame is not None and frame.is_valid():
                place = frame.find_sal()
                file = place.symtab.filename if place.symtab is not None else None
                yield frame.name(), frame.pc(), file, place.line
                frame = frame.older()
        finally:
            self.registers = None
            gdb.invalidate_cached_frames()


UNWINDER = ParkedUnwinder()
gdb.unwinder.register_unwinder(None, UNWINDER, replace=True)


def print_stack(task):
    if task.context is None:
        print("    it has no stack: it has not begun, or it is a thread (see `info threads`)")
        return
    for number, (name, pc, file, line) in enumerate(list(UNWINDER.frames(task.context))):
        if number == SHOWN_FRAMES:
            print("    (more)")
            return
        where = " at %s:%d" % (file, line) if file is not None else ""
        print("    %-3d 0x%016x in %s%s" % (number, pc, name or "??", where))
        # The frames below are the worker's loop.
        if name is not None and name.startswith("shoal::sched::Worker::run"):
            return


# --- commands

class Shoal(gdb.Command):
    """Parked tasks of a program that uses shoal: `shoal tasks`, `shoal stacks`."""

    def __init__(self):
        super().__init__("shoal", gdb.COMMAND_STACK, prefix=True)


class ShoalTasks(gdb.Command):
    """Lists the parked tasks of all ranks of the process: name, rank, and what they wait in."""

    def __init__(self):
        super().__init__("shoal tasks", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        tasks = parked_tasks()
        for number, task in enumerate(tasks):
            print(task.line(number))
        print("%d parked" % len(tasks))


class ShoalStacks(gdb.Command):
    """Lists parked tasks with their stacks: all, or those with the given numbers."""

    def __init__(self):
        super().__init__("shoal stacks", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        if gdb.selected_inferior().architecture().name() != "i386:x86-64":
            raise gdb.GdbError("the stacks of parked tasks can be shown on x86-64 only")
        tasks = parked_tasks()
        try:
            wanted = {int(word) for word in argument.split()}
        except ValueError:
            raise gdb.GdbError("shoal stacks [N ...]: the numbers are those of `shoal tasks`")
        for number, task in enumerate(tasks):
            if not wanted or number in wanted:
                print(task.line(number))
                print_stack(task)
        unknown = [number for number in sorted(wanted) if number >= len(tasks)]
        if unknown:
            raise gdb.GdbError("there is no parked task %s: `shoal tasks` lists them" %
                               ", ".join(map(str, unknown)))


Shoal()
ShoalTasks()
ShoalStacks()
