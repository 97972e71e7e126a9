"""Bad use of edat.h: a case of tests/edat/refusals.c ends with an error in EDAT's words, which
names the call."""

import suite

CASES = {
    "before_init": "edat: error: edatSubmitTask: call edatInit first",
    "rank_before_init": "edat: error: edatGetRank: call edatInit first",
    "finalise_before_init": "edat: error: edatFinalise: call edatInit first",
    "after_finalise": "edat: error: edatFireEvent: called after edatFinalise",
    "twice": "edat: error: edatInit: edatInit was called before",
    "bad_value": "edatInitWithConfiguration: key EDAT_NUM_WORKERS: 'none' is not allowed",
    "unknown_key": "edatInitWithConfiguration: key EDAT_NUM_WORKER is unknown",
    "null_key": "edatInitWithConfiguration: key or value 0 of 1 is NULL",
    "bad_type": "edatFireEvent: .a.: 17 is not a type: there are EDAT_NOTYPE .0., EDAT_INT .1.",
    "bad_context": "edatFireEvent: .a.: 1000 is not a type: edatDefineContext has not returned it",
    "create_context": "edatCreateContext: 3 is not the type of a context: edatDefineContext",
    "bad_target": "edatFireEvent: .a. cannot be fired to rank 99: the ranks are 0 to 0",
    "any_target": "edatFirePersistentEvent: .a. cannot be fired to EDAT_ANY: name a rank",
    "null_id": "edatFireEvent: the event identifier is NULL",
    "null_data": "edatFireEvent: .a. has 1 element, but the data are NULL",
    "negative_count": 'edatFireEvent: the number of elements of "a" is -1',
    "null_task": "edatSubmitTask: the task's function is NULL",
    "null_name": "edatSubmitNamedTask: the task's name is NULL",
    "bad_source": "edatSubmitNamedTask: .a. cannot come from rank 99: the ranks are 0 to 0",
    "null_source_id": "edatSubmitTask: an event identifier is NULL",
    "persistent_without": "edatSubmitPersistentTask: .*depends on nothing",
    "negative_options": "edatInitWithConfiguration: the number of options is -1",
    "negative_dependencies": "edatSubmitTask: the number of dependencies is -1",
    "negative_named": "edatSubmitNamedTask: the number of dependencies is -2",
    "negative_wait": "edatWait: the number of dependencies is -1",
    "negative_retrieve": "edatRetrieveAny: the number of dependencies is -1",
    "null_lock": "edatLock: the lock's name is NULL",
    "null_unlock": "edatUnlock: the lock's name is NULL",
    "null_test_lock": "edatTestLock: the lock's name is NULL",
    "null_is_submitted": "edatIsTaskSubmitted: the task's name is NULL",
    "null_remove": "edatRemoveTask: the task's name is NULL",
    "null_find_id": "edatFindEvent: the event identifier is NULL",
    "null_find_array": "edatFindEvent: the array of events is NULL",
    "null_find_event_id": "edatFindEvent: the identifier of an event is NULL",
    "null_retrieved": "edatRetrieveAny: the place for the number of events is NULL",
    "finalise_in_task": "edatFinalise: call it in main.., not in a task",
    "unlock": "edatUnlock: the caller does not have the lock .not held.",
    "unlock_of_another": "edatUnlock: the caller does not have the lock .mine.",
    "task_left": "shoal: error: .*nothing runs any more.*waiting has 0 of 1",
    "event_left": "shoal: error: .*nothing runs any more.*nobody.s. from rank 0 with 1 int",
    "wait_left": "edat: error: edatWait: .*nothing runs any more.*never",
    "wait_left_in_main": "edat: error: edatWait: .*nothing runs any more.*'main..' waits .*never",
    "wait_left_after_others":
        "edat: error: edatWait: .*nothing runs any more.*'main..' waits .*once",
    "locks_in_main": "edat: error: edatLock: .*nothing runs any more.*'main..' waits .*'b'",
    "comms_twice": "edatLockComms: edatLockComms was called before",
    "comms_not_locked": "edatUnlockComms: call edatLockComms first",
    "comms_at_end": "edatFinalise: call edatUnlockComms first",
    "comms_at_pause": "edatPauseMainThread: call edatUnlockComms first",
    "comms_in_wait": "edatWait: no event arrives before edatUnlockComms",
    "pause_in_task": "edatPauseMainThread: call it in main.., not in a task",
    "pause_with_task_left": "shoal: error: .*nothing runs any more.*waiting has 0 of 1",
    "fortran_sources": "edatSubmitTask_f: the array of sources is NULL",
    "fortran_id": "edatSubmitTask_f: an event identifier is NULL",
    "fortran_greedy": "edatSubmitTask_f: a greedy task has to be persistent",
    "restart_before_init": "edatRestart: call edatInit first",
    "communicator": "edatInitialiseWithCommunicator: a communicator.*has loaded no MPI",
    "bound_null": "edatSubmitBoundTask: the task is NULL",
    "bound_null_function": "edatSubmitBoundTask: the task's function is NULL",
    "bound_null_sources": "edatSubmitBoundTask: the array of sources is NULL",
    "bound_null_ids": "edatSubmitBoundTask: the array of event identifiers is NULL",
    "bound_negative": "edatSubmitBoundTask: the number of dependencies is -1",
    "bound_greedy": "edatSubmitBoundTask: a greedy task has to be persistent",
    "bound_persistent": "edatSubmitBoundTask: .*depends on nothing",
    "bound_wait_left": "edat: error: edatWait: .*nothing runs any more.*never",
    "bound_finalises": "edatFinalise: call it in main.., not in a task",
    "bound_pauses": "edatPauseMainThread: call it in main.., not in a task",
    "bound_null_retrieved": "edatRetrieveAny: the place for the number of events is NULL",
    "released_capacity": "edatTakeReleasedTasks: the capacity is -1",
    "released_null": "edatTakeReleasedTasks: the array of users is NULL",
}
# The environment: EDAT's variables, and shoal's own that cannot be. edatFinalise waits for a task
# that never returns, until the watch ends the program.
WITH_VARIABLES = {
    "environment": ("environment variable EDAT_PROGRESS_THREAD: 'maybe' is not allowed",
                    {"EDAT_PROGRESS_THREAD": "maybe"}),
    "bridge": ("variable EDAT_ENABLE_BRIDGE: 'true' is not allowed",
               {"EDAT_ENABLE_BRIDGE": "true"}),
    "ranks": ("shoal: error: .*--ranks 3: a process with edat.h is one rank", {"SHOAL_RANKS": "3"}),
    "simulation": ("shoal: error: .*--sim: a program with edat.h", {"SHOAL_SIM": "on"}),
    "configuration": ("shoal: error: .*SHOAL_WINDOW_BYTES", {"SHOAL_WINDOW_BYTES": "1"}),
    "task_never_returns": ("runs the task 'endless' for .*the run is given up .--stall-abort.",
                           {"SHOAL_STALL_REPORT": "200ms", "SHOAL_STALL_ABORT": "1s"}),
}
# One process ends: the launcher ends the others. Or all end together, and all report the rest.
OF_TWO_PROCESSES = ["bad_source_on_last", "task_left", "wait_left", "wait_left_in_main",
                    "wait_left_in_all_mains", "wait_left_for_another", "communicator"]
OTHER_WORDS = "raw type|shoal::|[.][ch]pp:|not refused"


class Refusals(suite.Suite):

    def refuses(self, case, pattern, **options):
        with self.subTest(case):
            result = self.refused("edat_refusals", case, f"(?s){pattern}", **options)
            self.assertNotRegex(result.output + result.errors, OTHER_WORDS)

    def test_cases(self):
        for case, pattern in CASES.items():
            self.refuses(case, pattern)

    def test_variables(self):
        for case, (pattern, environment) in WITH_VARIABLES.items():
            self.refuses(case, pattern, environment=environment)

    def test_two_processes(self):
        if not suite.build().mpis:
            self.skipTest("this build has no MPI")
        for mpi in suite.build().mpis:
            for case in OF_TWO_PROCESSES:
                with self.subTest(case, mpi=mpi):
                    result = self.launched("edat_refusals", mpi, 2, case, code=suite.FAILURE)
                    said = result.output + result.errors
                    self.assertRegex(said, "edat: error: edat(Submit|Wait|Init)"
                                           "|shoal: error: (?s:.*)nothing runs any more")
                    self.assertNotRegex(said, OTHER_WORDS)


if __name__ == "__main__":
    suite.main()
