"""Slips of users in the programs of tests/slips: shoal says what was wrong, where, and what to do.

A line of a table is a slip, perhaps with options; the texts must be in what the run prints. Slips
that the compiler refuses are in tests/compile_fail.
"""

import suite

ANOTHER_ORDER = ["all ranks of a team make their active messages, task graphs, flows, events and "
                 "memories in the same order, at the same places in the source and with the same "
                 "names"]
NO_WAIT_IN_HANDLER = ["on rank 1: a handler must not wait, wherever the target is. Deliver the "
                      "message as a task (Delivery::task), or go on in then()"]
STUCK = ["nothing runs any more, but tasks still wait:"]
AFTER_RUN = ["is used after its run() has returned: each run has its own, which its main function "
             "is given, or makes and lets end"]
EXITS = ["exit() was called inside shoal::run(), on rank 1: what the ranks had still to do is "
         "lost. Throw an exception instead: run() then returns 1"]
FORGOTTEN = ["call wait() of the world before it goes out of scope"]
OF_TWO = " out of range: the world has ranks 0 to 1; choose one of these"
SAME_COLLECTIVES = ["all members call the same operations in the same order, with values of one "
                    "type, arrays of one size, one way to combine them and the same root"]
NO_MEMBER = ["on rank 1, which is no member of it: ask is_member() first"]
POLLS = ["polls for ever", "Wait by get() of a future, or by a lock, event or group, which name "
         "what is missing"]
UNTAKEN = ["; nobody has taken this error from its future: call get() or then(), or catch it where "
           "it is thrown"]
NO_INT = (" does not fit into int: take a larger type there, or convert it where its upper bits "
          "may go")
STALLS = ["shoal: report of 2 ranks: nothing has happened",
          "the run is given up (--stall-abort)"]

HOLD_KEPT = [
    "rank 1: main function: in wait()", "1 of them is a Hold that the program still keeps",
    "Hold of the world: 1 made by the main function, at graph.cpp:",
    "; the main function is in wait(), which does not return before these have ended: end them "
    "first, or move them to the thread that still works"]

GRAPH = {
    "dependency_missing --check-graphs=false": STUCK + [
        "rank 1: task graph 'sweep': sweep[7] has fulfilled 1 of 2 dependencies",
        "lacks another, or was fulfilled too often before: --check-graphs names the caller"],
    "retried_task_waits": [
        "rank 1: ask failed: call() or publish(), in attempt 1 of 4 of 'ask' on rank 1, cannot be "
        "withheld until the attempt succeeds: do it in a task that this one spawns, which begins "
        "after that, or give this task no retries"],
    "retried_task_changes_its_input": [
        "rank 1: the main function failed: task 'drop rows' cannot be tried again: its function is "
        "mutable and cannot be copied"],
    "retries_run_out": ["rank 1: write failed: failed 3 times, the last: the disk is full"],
    "indegree_zero": [
        "rank 1: the main function failed: roots[3] has indegree 0: it must be at least 1 (a task "
        "that depends on nothing has indegree 1 and is fulfilled once to start it)"],
    "fulfilled_too_often --check-graphs": [
        "rank 1: the main function failed: cells[7] is fulfilled by the main function, but it was "
        "made ready before: its indegree is 2",
        "one of these is too many, or the indegree is too small (call set_repeating()"],
    "wait_forgotten": FORGOTTEN + [
        "rank 1: the main function failed: task graph 'tree' ended before its work was done",
        "tree[42] has fulfilled 1 of 2 dependencies"],
    "rank_too_large": [
        "rank 0: the main function failed: task graph 'blocks': set_rank() of blocks[2], on rank "
        "0: rank 2 is" + OF_TWO],
    "task_unset": [
        "rank 1: the main function failed: task graph 'bare' cannot fulfill 0: call set_task() "
        "before the first fulfill()"],
    "worker_too_large": [
        "rank 1: the main function failed: rows[8] is mapped to worker 8: this rank has workers 0 "
        "to 1"],
    "priority_too_large": [
        "rank 1: the main function failed: graph 'paths': the function that set_priority() was "
        "given returned 1099511627781 for key 5: it must be between -2147483648 and 2147483647"],
    "key_too_large": [
        "rank 1: the main function failed: task graph 'ids': key on rank 1: 4294967303" + NO_INT],
    "argument_too_large": [
        "rank 1: the main function failed: message for 'size', on rank 1: 5000000000" + NO_INT],
    "argument_of_call_too_large": [
        "rank 1: the main function failed: message for 'call of half', on rank 1: 5000000000" +
        NO_INT],
    "slot_too_large": [
        "rank 0: the main function failed: task graph 'sums': send() to slot 1: the function of "
        "set_task() takes 1 inputs behind the key, slots 0 to 0"],
    "input_of_another_type": [
        "rank 0: the main function failed: task graph 'means': send() of double to slot 0: "
        "the function of set_task() takes long"],
    "input_sent_twice": [
        "rank 1: task graph 'halo': input 0 failed: halo[9] has its input of slot 0 already: it is "
        "sent twice"],
    "task_throws": ["rank 1: files[6] failed: no such tile"],
    "handler_throws": ["rank 1: catch fish failed: bad fish"],
    "handlers_swapped": ANOTHER_ORDER + [
        "a message of rank 0 met another handler on rank 1",
        "add to a, made at graph.cpp", "on rank 0, and add to b, made at graph.cpp"],
    "handler_on_one_rank": STUCK + [
        "rank 1: messages from rank 0 are for report, which was never made here"],
    "graph_on_one_rank --sim": STUCK + [
        "rank 1: messages from rank 0 are for task graph 'lonely': fulfill(), which was never made "
        "here"],
    "get_in_handler": NO_WAIT_IN_HANDLER + [
        "rank 1: ask failed: get() of 'a call' was called in handler 'ask'"],
    "promise_never_kept": STUCK + [
        "rank 1: 'the main function' waits in get() of 'the pivot'"],
    "promise_kept_twice": [
        "rank 1: the main function failed: promise 'the norm' cannot be used so: it was fulfilled "
        "already"],
    "future_dropped": UNTAKEN + ["rank 1: load failed: no such tile"],
    "future_kept": UNTAKEN + [
        "rank 1: load failed: no such tile", "; its future was kept beyond run()"],
    "promise_dropped": [
        "rank 1: the main function failed: promise 'the shift' was destroyed before it was "
        "fulfilled"],
    "collectives_differ": [
        "collective number 1 is all", "allgather() of int on rank 1",
        "allreduce() of int by std::plus on rank 0"] + SAME_COLLECTIVES,
    "operations_differ": SAME_COLLECTIVES + [
        "collective number 1 is reduce() of int by std::", "std::plus with root 0 on rank 0",
        "std::multiplies with root 0 on rank 1"],
    "hold_kept --sim": HOLD_KEPT,
    "hold_kept --stall-abort 1s": STALLS + HOLD_KEPT,
    "collective_missing --sim": STUCK + [
        "rank 0: the main function waits in barrier() (collective number 1), which not every rank "
        "called"],
    "roots_differ": STUCK + [
        "rank 0: the main function waits in broadcast() with root 1 (collective number 1), which "
        "not every rank called with this root",
        "rank 1: the main function waits in broadcast() with root 0 (collective number 1), which "
        "not every rank called with this root"],
    "root_too_large": [
        "rank 1: the main function failed: root of reduce(), on rank 1: rank 2 is" + OF_TWO],
    "sizes_of_arrays_differ": SAME_COLLECTIVES + [
        "collective number 1 is ", "allreduce() of 4 elements of double by std::plus on rank 0",
        "allreduce() of 5 elements of double by std::plus on rank 1"],
    "types_of_values_differ": SAME_COLLECTIVES + [
        "rank 1: a collective operation failed: collective number 1 is reduce() of double by "
        "std::plus with root 0 on rank 1, and reduce() of int by std::plus with root 0 on rank 0"],
    "message_to_no_rank": [
        "rank 1: the main function failed: message for 'halo', on rank 1: rank 2 is" + OF_TWO],
    "function_to_no_rank": [
        "rank 1: the main function failed: message for 'count', on rank 1: rank -1 is" + OF_TWO],
    "multicast_to_no_rank": [
        "rank 1: the main function failed: multicast for 'news', on rank 1: rank 2 is" + OF_TWO],
    "call_of_no_rank": [
        "rank 1: the main function failed: message for 'call of divide', on rank 1: rank 2 is" +
        OF_TWO],
    "call_throws": [
        "rank 0: the main function failed: divide failed on rank 1, called by rank 0: division by "
        "zero"],
    "called_function_throws": [
        "rank 0: the main function failed: square root failed on rank 1, called by rank 0: no "
        "square root"],
    "wait_in_task": [
        "rank 1: impatient failed: wait() was called in a task or a thread of its own; call it in "
        "the main function"],
    "handler_ends_early": [
        "rank 1: a message failed: a message from rank 0 is for short, which was destroyed here: "
        "keep it until wait() has returned"],
    "buffer_too_small": [
        "rank 1: panel failed: the buffer function of 'panel' returned room for 10 elements where "
        "20 arrive: it must return a span of exactly that size"],
    "output_without_value": [
        "rank 1: the main function failed: tiles[3] is taken, but there is no such output: it was "
        "not put before its reader was fulfilled, or all of its readers have taken it and put() "
        "was given too few"],
    "output_not_read": [
        "rank 1: the main function failed: norms: 1 outputs were not taken by all of their "
        "readers: [3] by 1 of 2"],
    "reset_too_early": [
        "rank 1: the main function failed: reset() of task graph 'steps': some of its tasks have "
        "begun to be fulfilled and have not run:",
        "steps[5] has fulfilled 1 of 2 dependencies"],
    "locks_in_a_cycle": STUCK + [
        "rank 1: lock cycle: ", "'Kant' waits in lock() of mutex 'left fork'",
        "'Plato' waits in lock() of mutex 'right fork'"],
    "poll_without_end --sim": POLLS + ["rank 1: main function: in wait()",
                                       "parked: 'poller' in yield()"],
    "poll_without_end --stall-abort 1s": STALLS + ["rank 1: main function: in wait()",
                                                   "1 of 1 task not finished"],
    "exit_in_main_function": EXITS,
    "exit_in_task": EXITS,
    "exit_in_main_function --sim": EXITS,
    "world_after_run": ["after run(): a World "] + AFTER_RUN,
    "graph_after_run": ["after run(): task graph 'late' "] + AFTER_RUN,
}

EVENTS = {
    "event_never_fired": STUCK + [
        "rank 1: events 'weather': umbrella has 0 of 1 events and waits for \"rain\" from any "
        "rank"],
    "event_nobody_takes": STUCK + [
        "rank 1: events 'mail': no task took \"letter\" from rank 0 with int"],
    "one_event_too_many --sim": STUCK + [
        "rank 1: events 'counts': no task took \"count\" from rank 0 with int"],
    "name_misspelt": STUCK + [
        "rank 1: events 'halo': advance has 0 of 1 events and waits for \"ghost_cells\" from rank "
        "0; \"ghost_cell\" is here from rank 0: is the name right?"],
    "another_source": STUCK + [
        "rank 1: events 'sums': add has 0 of 1 events and waits for \"part\" from rank 1; "
        "\"part\" is here from rank 0: is the source right?"],
    "another_type": [
        "rank 1: read a double failed: event \"value\" from rank 0 was fired with int, not with "
        "double"],
    "no_value": [
        "rank 1: starter failed: event \"go\" from rank 0 was fired with nothing, not with int"],
    "source_too_large": [
        "rank 1: the main function failed: events 'ring': task 'pass on' depends on \"token\", on "
        "rank 1: rank 2 is" + OF_TWO],
    "target_too_large": [
        "rank 1: the main function failed: events 'ring': fire() of \"token\", on rank 1: rank 2 "
        "is" + OF_TWO],
    "fired_to_any": [
        "rank 1: the main function failed: events 'work': \"item\" cannot be fired to any: name a "
        "rank, or shoal::self, or shoal::all"],
    "greedy_once": [
        "rank 1: the main function failed: events 'stacks': task 'collect' is greedy but not "
        "persistent: set both, or neither"],
    "persistent_on_nothing": [
        "rank 1: the main function failed: events 'loops': task 'for ever' is persistent and "
        "depends on nothing: it would run for ever"],
    "function_empty": [
        "rank 1: the main function failed: events 'actions': task 'unset' has no function: it was "
        "submitted with an empty one"],
    "address_to_another_rank": [
        "rank 1: the main function failed: events 'shared': \"place\" cannot be fired to rank 0 "
        "with an address: it means nothing on other ranks"],
    "wait_forgotten": FORGOTTEN + [
        "rank 1: the main function failed: events 'orders' ended before its work was done",
        "deliver has 0 of 1 events and waits for \"order\" from rank 0"],
    "wait_forgotten_under_way": ["events 'ring'"],  # by the rank that ends first, or a late event
    "lost_between_two": STUCK + [
        "rank 1: events 'shared': second (persistent) has 1 of 2 events and waits for \"a\" from "
        "rank 1; another persistent task holds what it lacks"],
    "persistent_half_done": STUCK + [
        "rank 1: events 'rounds': join (persistent) has 1 of 2 events for a later run and waits "
        "for \"right\" from rank 0"],
    "task_throws": ["rank 1: parse failed: line 3 is torn"],
    "names_differ": ANOTHER_ORDER + [
        "events 'temperatures', made at events.cpp", "on rank 0, and events 'pressures', made at "
        "events.cpp"],
    "two_names_for_two_ranks --sim": ANOTHER_ORDER + [
        "events 'left', made at events.cpp", "on rank 0, and events 'right', made at events.cpp"],
    "made_on_one_rank": STUCK + [
        "rank 1: messages from rank 0 are for events 'private', which was never made here"],
    "wait_in_handler": NO_WAIT_IN_HANDLER + [
        "rank 1: ask failed: wait() of events 'answers' for \"answer\" from any rank was called in "
        "handler 'ask'"],
    "wait_never_ends": STUCK + [
        "rank 1: events 'results': wait() in 'collector' has 0 of 1 events and waits for "
        "\"result\" from rank 0"],
    "event_beyond_the_list": [
        "rank 1: join failed: a list of 2 events has no event 2 (the first is 0): it has \"left\" "
        "from rank 0, \"right\" from rank 0"],
    "lock_kept": STUCK + [
        "rank 1: 'clerk' waits in lock() of mutex 'ledger', which 'keeper' holds"],
    "unlocked_by_nobody": [
        "rank 1: opener failed: unlock() of mutex 'table': the caller does not hold it"],
    "locked_twice": [
        "rank 1: forgetful failed: lock() of mutex 'table': the caller holds it already"],
    "locks_in_a_cycle": STUCK + [
        "rank 1: lock cycle: ", "'Kant' waits in lock() of mutex 'left', which 'Plato' holds",
        "'Plato' waits in lock() of mutex 'right', which 'Kant' holds"],
    "poll_without_end --sim": POLLS + ["rank 1: main function: in wait()",
                                       "parked: 'poller' in yield()"],
    "poll_without_end --stall-abort 1s": STALLS + ["rank 1: main function: in wait()",
                                                   "1 of 1 task not finished"],
    "after_run": ["after run(): events 'late' "] + AFTER_RUN,
}

BOTH_INSERT = ["both ranks make the insertion, get() or acquire() that needs it"]
OTHER_PROGRAM = ["the ranks insert different programs",
                 "all ranks must insert the same tasks in the same order, with the same data, "
                 "types and sizes (or make the flow with FlowOptions::pruned)"]
SAME_DATA = ["all ranks register their data with the same names, types and tags, and those without "
             "tags in the same order"]
FLOW = {
    "stale_prune": [
        "rank 1: the main function failed: flow 'pruned': rank 0 has sent value 2 of 'x' to rank "
        "1, where no insertion receives it: rank 1 has left out the insertion of a task",
        "a rank of a pruned flow inserts all that changes data which it reads later"],
    "read_pruned": STUCK + BOTH_INSERT + [
        "rank 1: flow 'pruned': receiving of 'source' from rank 0 waits for a value that rank 0 "
        "has not sent"],
    "other_datum_pruned": STUCK + SAME_DATA + [
        "rank 1: flow 'pruned': receiving of 'left' from rank 0 waits for a value that rank 0 has "
        "not sent",
        "rank 1: flow 'pruned': rank 0 has sent a value of 'data 0' that no task here reads (which "
        "is 'right', a long"],
    "other_tag_pruned": STUCK + SAME_DATA + [
        "rank 1: flow 'pruned': rank 0 has sent a value of 'data of tag 1' that no task here reads "
        "(which is 'down', a long"],
    "other_type_pruned": STUCK + SAME_DATA + [
        "rank 1: flow 'pruned': rank 0 has sent a value of 'data of tag 1' that no task here reads "
        "(which is 'x', a long"],
    "programs_differ --sim": OTHER_PROGRAM + [
        "flow 'sums', difference failed", "is double of 'x' at rank 0 on rank 0, and square of "
        "'x' at rank 0 on rank 1"],
    "insertion_missing": OTHER_PROGRAM + [
        "flow 'sums', difference failed", "add of 'x' at rank 1 on rank 0, and nothing on rank 1"],
    "data_in_another_order": OTHER_PROGRAM + [
        "flow 'halves', difference failed",
        "add of 'left' at rank 0 (data 0) on rank 0, and add of 'left' at rank 0 (data 1) on "
        "rank 1"],
    "sizes_differ": OTHER_PROGRAM + [
        "register of 'x' at rank 0 (std::span<double", "> of 8 elements) on rank 0, and register "
        "of 'x' at rank 0 (std::span<double", "> of 9 elements) on rank 1"],
    "sizes_differ_pruned": [
        "rank 1: receiving of 'x' from rank 0 failed: flow 'rows': the value of 'x' that rank 0 "
        "has sent does not fit: it is std::span<double", "> of 9 elements here, and 64 bytes came "
        "for a vector of 72", "; all ranks register a datum with the same type and size"],
    "get_on_one_rank": STUCK + BOTH_INSERT + [
        "rank 1: 'the main function' waits in get() of 'norm'",
        "rank 1: flow 'norms': receiving of 'norm' from rank 0 waits for a value that rank 0 has "
        "not sent"],
    "after_unregister": [
        "the main function failed: flow 'tiles': insert(add), task 3: argument 1 is a datum that "
        "was unregistered before, 'tile'"],
    "get_after_unregister": [
        "the main function failed: flow 'tiles': get() of a datum that was unregistered before, "
        "'tile'"],
    "never_registered": [
        "the main function failed: flow 'tiles': insert(add), task 1: argument 1 is a datum that "
        "was never registered"],
    "whole_while_partitioned": [
        "the main function failed: flow 'blocks': insert(clear), task 3: 'vector' is partitioned: "
        "use its parts, or unpartition() it first"],
    "partition_in_nothing": [
        "the main function failed: flow 'blocks': partition() of 'vector' into 0 x 1 parts: there "
        "must be at least one"],
    "unpartition_twice": [
        "the main function failed: flow 'blocks': unpartition() of 'vector', which is not "
        "partitioned"],
    "unregister_partitioned": [
        "the main function failed: flow 'tiles': unregister() of 'vector', which is partitioned: "
        "unpartition() it first"],
    "datum_of_another_flow": [
        "the main function failed: flow 'two': insert(add), task 1: 'x of one' is a datum of "
        "another flow"],
    "datum_given_twice": [
        "the main function failed: flow 'sums': insert(copy), task 2: 'total' is given twice, as "
        "read and as write: give it once, as read_write"],
    "one_tag_for_two": [
        "the main function failed: flow 'tags': 'second' is registered with tag 5, which 'first' "
        "has already: each datum needs a tag of its own until it is unregistered"],
    "value_too_large": [
        "rank 1: the main function failed: flow 'rows': insert() of 'scale', on rank 1: 5000000000"
        + NO_INT],
    "tag_too_large": [
        "the main function failed: flow 'tags': the tag 1125899906842624 of 'huge' is too large: "
        "at most 2^47 - 1"],
    "owner_too_large": [
        "the main function failed: flow 'rows': owner of 'last row', on rank ",
        ": rank 2 is" + OF_TWO],
    "rank_too_large": [
        "the main function failed: flow 'rows': on_rank() of task 2, with 'row', on rank ",
        ": rank 2 is" + OF_TWO],
    "migrated_too_far": [
        "the main function failed: flow 'rows': migrate() of 'row', on rank ",
        ": rank 2 is" + OF_TWO],
    "reader_writes": [
        "rank 1: peek(table, y) failed: flow 'views': peek(table, y) has changed 'table', which it "
        "only reads: insert it with read_write() instead of read()"],
    "never_released": STUCK + [
        "rank 1: flow 'locks': 1 accesses wait for 'ledger', held in mode write by acquire() on "
        "this rank; the first to wait is add(ledger)"],
    "insert_while_held --sim": STUCK + [
        "rank 1: 'the main function' waits in insert() beyond tasks_max of flow 'bounded'",
        "accesses wait for 'ledger', held in mode write by acquire() on this rank"],
    "no_reduction": [
        "the main function failed: flow 'dots': insert(add), task 2: 'dot' has no reduction: call "
        "set_reduction() first"],
    "task_throws": ["rank 1: divide(pivot) failed: pivot 3 is zero"],
    "flow_on_one_rank": STUCK + [
        "rank 1: messages from rank 0 are for flow 'lonely', which was never made here"],
    "names_differ": ANOTHER_ORDER + [
        "flow 'lower', ", "flow 'upper', ", "on rank 0", "on rank 1", "made at flow.cpp"],
    "get_in_task --sim": STUCK + [
        "rank 1: 'look(x)' waits in get() of 'x'",
        "wait for 'x', held in mode read_write by 1 tasks"],
    "wait_in_handler": NO_WAIT_IN_HANDLER + [
        "rank 1: ask failed: flow 'late': acquire() was called in handler 'ask'"],
    "sub_flow_on_one_rank": STUCK + BOTH_INSERT + [
        "rank 1: flow 'main': rank 0 has sent a value of 'x' that no task here reads"],
    "after_run": ["after run(): flow 'late' "] + AFTER_RUN,
}

ONE_ORDER = ["all members of a team make their distributed objects in the same order"]
OTHER_TEAM = ["rank 0: messages from rank 1 are for a team that was never made here: all members "
              "make their teams in the same order, with the same names, and with the same ranks in "
              "one order"]
OBJECTS = {
    "classes_swapped": ONE_ORDER + [
        "rank 1: Account::deposit of object 1, invoked by rank 0 failed: object 1 of the world on "
        "rank 1 is a Diary, and a Account on the rank that uses it here"],
    "method_throws": [
        "rank 1: Account::overdraw of object 1, invoked by rank 0 failed: no money"],
    "error_of_a_constructed_object": [
        "rank 1: team '1 of rank 0 for Account' failed: rank 1: Account::overdraw of object 1, "
        "invoked by rank 0 failed: no money"],
    "constructor_throws": [
        "rank 0: the main function failed: the constructor of Torn failed on rank 1, called by "
        "rank 0: page 1 is torn"],
    "fence_forgotten": [
        "rank 1: Account::deposit of object 1, invoked by rank 0 failed",
        "object 1 (Account) of the world on rank 1 was destroyed: call fence() before it ends"],
    "used_after_deletion": [
        "rank 0: the main function failed: a call failed on rank 1, called by rank 0",
        "Account::deposit was invoked by rank 0: object 1 (Account) of team '1 of rank 0 for "
        "Account' on rank 1 was destroyed: call fence() before it ends"],
    "async_after_deletion": ["object 1", "deposit"],  # of the object, or of a team that has ended
    "result_of_a_method_dropped": UNTAKEN + [
        "rank 0: a call failed: Account::overdraw of object 1 (Account) failed on rank 1, called "
        "by rank 0: no money"],
    "handle_of_a_constructor_dropped": UNTAKEN + [
        "rank 0: construct() failed: the constructor of Torn failed on rank 1, called by rank 0: "
        "page 1 is torn"],
    "launched_error_dropped": UNTAKEN + [
        "rank 0: the end of a team failed: launch_team() failed on rank 0, called by rank 0: "
        "rank 1: the section of team 1 of rank 0 failed: no such tile"],
    "made_on_one_rank": STUCK + [
        "rank 1: invocation Account::deposit from rank 0 waits for object 1, which is not made "
        "yet"],
    "epoch_never_comes": STUCK + [
        "rank 1: invocation Account::deposit from rank 0 waits for object 1, in epoch 2: this rank "
        "is in epoch 1"],
    "sync_in_handler": NO_WAIT_IN_HANDLER + [
        "rank 1: audit failed: sync() of an object was called in handler 'audit'"],
    "object_made_in_handler": [
        "rank 1: open failed: a distributed object (Account) was made in a handler, or on a thread "
        "of its own: all members make it, in their main functions or in one task each"],
    "two_tasks_in_collectives --sim": [
        "barrier() (collective number 1) was called while another task of this rank is in an "
        "operation of team 'pair': members take part one task at a time"],
    "deleted_while_it_waits": [
        "rank 1: a destructor failed: object 1 (Waiter) was destroyed while an invocation of it "
        "waits: call fence() before it ends"],
    "answer_never_comes --sim": STUCK + [
        "rank 1: 'Waiter::wait_for_order of object 1, invoked by rank 0' waits in get() of 'the "
        "order'"],
    "cast_to_another_class": [
        "rank 1: Savings::add_interest of object 1, invoked by rank 0 failed: a representative is "
        "no Savings"],
    "invoked_on_no_rank": [
        "rank 1: the main function failed: Account::deposit of object 1 (Account), on rank 1: rank "
        "2 is" + OF_TWO],
    "called_on_no_rank": [
        "rank 1: the main function failed: Account::balance of object 1 (Account), on rank 1: rank "
        "-1 is" + OF_TWO],
    "tunnel_to_no_rank": [
        "rank 1: the main function failed: Account::deposit of object 1 (Account), on rank 1: rank "
        "2 is" + OF_TWO],
    "sync_throws": [
        "rank 0: the main function failed: Account::overdraw of object 1 (Account) failed on rank "
        "1, called by rank 0: no money"],
    "argument_too_large": [
        "rank 1: the main function failed: message for '",
        "::set', on rank 1: 5000000000" + NO_INT],
    "argument_from_outside_too_large": [
        "rank 1: the main function failed: invocation of ",
        "::set, on rank 1: 5000000000" + NO_INT],
    "task_argument_too_large": [
        "rank 1: the main function failed: argument of a function for object 1 (shoal::Executor), "
        "on rank 1: 5000000000" + NO_INT],
    "element_too_large": [
        "rank 1: the main function failed: object 1 (shoal::DistributedArray<int>), on rank 1: "
        "element 10 is out of range: there are elements 0 to 9; choose one of these"],
    "range_too_large": [
        "rank 1: the main function failed: object 1 (shoal::DistributedArray<int>), on rank 1: "
        "element 10 is out of range: there are elements 0 to 9; choose one of these"],
    "array_sizes_differ": [
        "rank 0: shoal::DistributedArray<int>::set_here of object 1, invoked by rank 1 failed: "
        "object 1 (shoal::DistributedArray<int>), on rank 0: element 7, which another rank looks "
        "for here, is not here: this rank has made it of 10 elements; all members make it with the "
        "same sizes and distribution"],
    "array_distributions_differ": [
        "failed on rank 0, called by rank 1: object 1 (shoal::DistributedArray<int>), on rank 0: "
        "element 0, which another rank looks for here, is not here: this rank has made it of 10 "
        "elements"],
    "inner_sizes_differ": [
        "rank 0: ", ", on rank 0: element 3, which another rank looks for here, is not here: this "
        "rank has made it of 4 elements; all members make it with the same sizes and distribution"],
    "members_in_another_order": STUCK + OTHER_TEAM + [
        "rank 0: 'the main function' waits in wait() of team 'pair'"],
    "one_member_too_many": STUCK + OTHER_TEAM + [
        "rank 1: 'the main function' waits in barrier() (collective number 1) of team 'first'"],
    "executor_wait_forgotten": FORGOTTEN + [
        "rank 1: the main function failed: an executor of the world ended before its work was done "
        "(", "an executor of the world: ", " of its tasks have not begun"],
    "inner_executor_wait_forgotten": [
        "rank 1: the main function failed: an executor of team 'inner' ended before its work was "
        "done (", "call wait() of team 'inner' before it goes out of scope"],
    "used_by_no_member": NO_MEMBER + [
        "rank 1: the main function failed: team 'first' is used in a collective operation "],
    "sent_by_no_member": NO_MEMBER + [
        "rank 1: the main function failed: team 'first' is used "],
    "object_of_no_member": NO_MEMBER + [
        "rank 1: the main function failed: team 'first' is used "],
    "team_kept": STUCK + [
        "rank 1: team '1 of rank 0' has not ended: release the pointer that Team::share() returned "
        "at objects.cpp:"],
    "member_twice": [
        "the main function failed: team 'pair': rank 1 is twice among the ranks of a team"],
    "member_out_of_range": [
        "the main function failed: team 'pair': rank 2 of a team is out of range: it is made on "
        "ranks 0 to 1"],
    "team_names_differ": STUCK + OTHER_TEAM + [
        "rank 0: 'the main function' waits in barrier() (collective number 1) of team 'rows'",
        "rank 1: 'the main function' waits in barrier() (collective number 1) of team 'columns'"],
    "team_made_in_handler": [
        "rank 1: regroup failed: team 'inner' was made in a handler, or on a thread of its own: "
        "make it in the main function or a task"],
    "member_stays_away": STUCK + [
        "rank 0: 'the main function' waits in barrier() (collective number 1) of team 'meeting'"],
    "team_task_throws": ["rank 1: team 'second' failed: rank 1: load failed: no such tile"],
    "launched_error": [
        "rank 0: the main function failed: launch_team() failed on rank 0, called by rank 0: rank "
        "1: the section of team 1 of rank 0 failed: no such tile"],
    "async_after_its_team": [
        "rank 0: the main function failed: Account::deposit, invoked by rank 0 of the world on "
        "object 1: its team has ended: keep the object until all invocations have run"],
    "null_handle": [
        "rank 1: the main function failed: an empty handle was used: take handle() of an object "
        "first"],
    "representative_elsewhere": [
        "rank 1: the main function failed: a handle of object 1 was used on rank 1 of the world, "
        "which is not a member of the object's team: invoke methods by the handle, or use it on a "
        "member"],
    "thread_in_simulation --sim": [
        "ExternalThread on a thread of the program, on rank 1: a simulated world runs all ranks "
        "in one thread, and others must not call into it. Do its work in a task, or run without "
        "--sim"],
    "poll_without_end --sim": POLLS + ["rank 1: main function: in yield()"],
    "poll_without_end --stall-abort 1s": STALLS + ["rank 1: main function: "],
    "object_after_run": [
        "after run(): a message for 'Account::deposit' is sent after its run() has returned: make "
        "the handler anew in the main function of each run"],
    "after_run": ["after run(): a handle was made or used on a thread outside shoal's workers, or "
                  "after run() has returned: use it in a task or a main function, during the run"],
}

FREED = ["nothing is allocated there, or not any more"]
USED_AFTER_END = [
    "rank 1: a message failed: a message from rank 0 is for memory 'brief': get, which was "
    "destroyed here: keep it until wait() has returned"]
MEMORY = {
    "put_after_free": FREED + [
        "rank 0: the main function failed: memory 'grid': put of rank 1: 8 bytes at 0x40"],
    "put_after_free_dropped": FREED + [
        "rank 0: a put that nothing waited for failed: memory 'grid': put of rank 1: 8 bytes at "
        "0x40"],
    "get_past_the_end": FREED + [
        "rank 0: the main function failed: memory 'rows': get of rank 1: 8 bytes at 0x80"],
    "freed_twice": [
        "rank 1: the main function failed: memory 'lists': global heap of rank 1: free of "
        "0x80000000: nothing is allocated there: it was freed before, or belongs to another heap"],
    "freed_in_the_middle": [
        "rank 1: the main function failed: memory 'lists': global heap of rank 1: free of "
        "0x80000008: it points into the allocation of 32 bytes at 0x80000000"],
    "null_pointer": [
        "rank 1: the main function failed: memory 'trees': get through a null pointer"],
    "pointer_of_another_memory": [
        "rank 1: the main function failed: memory 'two': get through a pointer that belongs to "
        "another memory (or to one of another team or world)"],
    "rank_too_large": [
        "rank 1: the main function failed: memory 'columns': put, on rank 1: rank 2 is" + OF_TWO],
    "past_the_heap": [
        "rank 0: the main function failed: memory 'small': put of 8 bytes at 0x8000040 of rank 1: "
        "the heap ends at 0x100000"],
    "element_too_large": [
        "rank 1: the main function failed: memory 'bins': vector, on rank 1: element 10 is out of "
        "range: there are elements 0 to 9; choose one of these"],
    "sizes_differ": [
        "memory 'panels': collective allocation failed", "of 64 bytes at 0x40 on rank 0, made at "
        "memory.cpp", "of 128 bytes at 0x40 on rank 1, made at memory.cpp",
        "all ranks must make and free the same ones in the same order"],
    "vectors_differ": [
        "memory 'panels': the vector made at memory.cpp", "has its elements on other ranks, or at "
        "other places, on rank ", "all ranks must give the same size and Distribution"],
    "heaps_differ --sim": [
        "memory 'heaps': the global heap has ", "1048576 bytes on rank 0", "2097152 bytes on rank "
        "1", "all ranks must give the same --global-heap, or GlobalMemoryOptions::heap_bytes"],
    "allocated_on_one_rank --check-graphs=false": STUCK + [
        "rank 1: memory 'tables': rank 0 has made collective allocation 1 of 64 bytes, and this "
        "rank has not"],
    "heap_full": [
        "rank 1: the main function failed: memory 'tiny': global heap of rank 1: no room for 8.0 "
        "MiB", "free some, or ask for a larger heap (--global-heap, "
        "GlobalMemoryOptions::heap_bytes)"],
    "made_on_one_rank": STUCK + [
        "rank 1: messages from rank 0 are for memory 'private': allocate, which was never made "
        "here"],
    "get_in_handler": NO_WAIT_IN_HANDLER + [
        "rank 1: fetch failed: memory 'values': get() was called in handler 'fetch'"],
    "memory_ends_early": [  # found by the rank that ends first
        (" is for memory 'short': put, which was destroyed here: keep it until wait() has returned",
         " is for memory 'short': answer, which was destroyed here: keep it until wait() has "
         "returned",
         "rank 0: the main function failed: memory 'short' ended before its work was done (1 left "
         "waiting): call wait() of the world before it goes out of scope")],
    "memory_used_after_end": USED_AFTER_END,
    "memory_used_after_end --sim": USED_AFTER_END,
    "range_used_after_end": USED_AFTER_END,
    "range_used_after_end --sim": USED_AFTER_END,
    "stale_copy": [
        "rank 0: the main function failed: cache 'copies': rank 0 reads, in phase 0, its copy of "
        "rank 1 + 0x40 from phase 0, and the object there is newer; the last put or operation "
        "there was that of rank 1: call invalidate() between the change and the read"],
    "stale_copy_at_hand": [
        "rank 0: the main function failed: cache 'copies': rank 0 reads, in phase 0, its copy of "
        "rank 1 + 0x40 from phase 0, and the object there is newer; the last put or operation "
        "there was that of rank 1: call invalidate() between the change and the read"],
    "stale_copy_in_handler": [
        "cache 'copies': rank 0 reads, in phase 0, its copy of rank 1 + 0x40 from phase 0, and the "
        "object there is newer"],
    "stale_variable": [
        "rank 0: the main function failed: memory 'clock': rank 0 reads its copy of a GlobalVar of "
        "rank 1, which has set it since: call refresh() between the change and the read"],
    "cache_of_freed": FREED + [
        "rank 0: the main function failed: memory 'nodes': get of rank 1: 8 bytes at 0x40"],
    "no_copy_here": [
        "rank 0: the main function failed: cache 'copies': there is no copy of rank 1 + 0x40: "
        "lget() fetches nothing, get() does"],
    "variable_of_another_rank": [
        "rank 1: the main function failed: memory 'clock': set() of a GlobalVar of rank 0 on rank "
        "1: only its owner writes it"],
    "local_of_another_rank": [
        "rank 1: the main function failed: memory 'slices': local() of a pointer to rank 0, on "
        "rank 1: use get()"],
    "signal_behind_a_bad_put": [
        "rank 0: the main function failed: memory 'inbox': put of rank 1: 72 bytes at 0x40 reach 8 "
        "bytes past the allocation of 64 bytes at 0x40"],
    "misaligned": [
        "rank 0: the main function failed: memory 'bytes': 0x41 is not aligned to 8 bytes"],
    "cell_never_filled": STUCK + [
        "rank 1: 'reader' waits in wait() of condition 'the next pivot to be full'"],
    "locked_twice": [
        "rank 1: the main function failed: lock() of mutex 'ledger': the caller holds it already"],
    "lock_kept": STUCK + [
        "rank 1: 'second writer' waits in lock() of mutex 'ledger', which 'the main function' "
        "holds"],
    "unlocked_by_another": [
        "rank 1: helper failed: unlock() of mutex 'ledger': the caller does not hold it"],
    "permits_never_come": STUCK + [
        "rank 1: 'packer' waits in acquire() of semaphore 'free buffers'"],
    "barrier_incomplete --sim": STUCK + [
        "rank 1: 2 times 'part' waits in arrive_and_wait() of barrier 'end of step', to which 2 of "
        "3 have come"],
    "counted_too_often": [
        "rank 1: the main function failed: count_down(1) of latch 'tiles left', which is at 0"],
    "condition_without_notice": STUCK + [
        "rank 1: 'consumer' waits in wait() of condition 'queue to be filled'"],
    "group_waits_for_itself": [
        "rank 1: loaders failed: wait() of 'loaders': the caller is one of its tasks, or made by "
        "one"],
    "group_error_dropped": ["rank 1: loaders failed: no such file"],
    "future_taken_twice": [
        "rank 1: the main function failed: a future cannot be used so: it has no value to come, or "
        "it was taken already; get() takes the value, once, and share() makes a future for several "
        "readers"],
    "destructor_throws": ["rank 1: save failed: disk is full"],
    "poll_without_end --sim": POLLS + ["rank 1: main function: in yield()"],
    "poll_without_end --stall-abort 1s": STALLS + ["rank 1: main function: "],
    "lock_after_run": ["after run(): lock() of mutex 'ledger' "] + AFTER_RUN,
    "then_after_run": ["after run(): a future or a lock "] + AFTER_RUN,
    "after_run": ["after run(): memory 'late' "] + AFTER_RUN,
    "read_after_run": ["after run(): memory 'late' "] + AFTER_RUN,
}


class Slips(suite.Suite):
    timeout = 60

    def is_named(self, program, slip, texts):
        """A text may be one of several."""
        result = self.embedded(program, f"{slip} --ranks 2 --workers 2", code=None)
        self.assertNotEqual(result.code, 0, f"it did not fail: {result}")
        for text in texts:
            one_of = text if isinstance(text, tuple) else (text,)
            self.assertTrue(any(one in result.errors for one in one_of), f"{text}: {result}")
        if "after_run" not in slip:
            self.assertRegex(result.errors, r"\brank [01]\b", str(result))

    @suite.cases({slip: (slip, texts) for slip, texts in GRAPH.items()})
    def test_graph(self, case):
        self.is_named("slips_graph", *case)

    @suite.cases({slip: (slip, texts) for slip, texts in EVENTS.items()})
    def test_events(self, case):
        self.is_named("slips_events", *case)

    @suite.cases({slip: (slip, texts) for slip, texts in FLOW.items()})
    def test_flow(self, case):
        self.is_named("slips_flow", *case)

    @suite.cases({slip: (slip, texts) for slip, texts in OBJECTS.items()})
    def test_objects(self, case):
        self.is_named("slips_objects", *case)

    @suite.cases({slip: (slip, texts) for slip, texts in MEMORY.items()})
    def test_memory(self, case):
        self.is_named("slips_memory", *case)

    # The heap of a process of the same node, which ends it.
    def test_memory_of_another_process(self):
        self.program("slips_memory")
        for mpi in suite.build().mpis:
            result = self.launched("slips_memory", mpi, 2, "memory_used_after_end", code=None)
            self.assertNotEqual(result.code, 0, str(result))
            self.assertIn(USED_AFTER_END[0], result.errors, str(result))

    # That of a process of another node, which MPI reads. Open MPI 4.1 makes no windows here.
    def test_memory_read_by_mpi(self):
        self.program("slips_memory")
        if "mpich" not in suite.build().mpis:
            self.skipTest("MPICH is not here")
        result = self.launched("slips_memory", "mpich", 2, "range_used_after_end "
                               "--node-processes 1 --global-rma 16", code=None)
        self.assertNotEqual(result.code, 0, str(result))
        self.assertIn("rank 0: the main function failed: memory 'brief': get of 800 bytes at 0x40 "
                      "of rank 1, on rank 0: rank 1 has destroyed the memory: keep it until wait() "
                      "has returned", result.errors, str(result))


if __name__ == "__main__":
    suite.main()
