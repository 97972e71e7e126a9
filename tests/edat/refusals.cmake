# Bad use of edat.h: the case of refusals.c, and what is written.

shoal_add_edat_refusal(before_init "edat: error: edatSubmitTask: call edatInit first")
shoal_add_edat_refusal(rank_before_init "edat: error: edatGetRank: call edatInit first")
shoal_add_edat_refusal(finalise_before_init "edat: error: edatFinalise: call edatInit first")
shoal_add_edat_refusal(after_finalise "edat: error: edatFireEvent: called after edatFinalise")
shoal_add_edat_refusal(twice "edat: error: edatInit: edatInit was called before")
shoal_add_edat_refusal(
  bad_value "edatInitWithConfiguration: key EDAT_NUM_WORKERS: 'none' is not allowed")
shoal_add_edat_refusal(unknown_key "edatInitWithConfiguration: key EDAT_NUM_WORKER is unknown")
shoal_add_edat_refusal(null_key "edatInitWithConfiguration: key or value 0 of 1 is NULL")
shoal_add_edat_refusal(
  bad_type "edatFireEvent: .a.: 17 is not a type: there are EDAT_NOTYPE .0., EDAT_INT .1.")
shoal_add_edat_refusal(
  bad_context "edatFireEvent: .a.: 1000 is not a type: edatDefineContext has not returned it")
shoal_add_edat_refusal(create_context
                       "edatCreateContext: 3 is not the type of a context: edatDefineContext")
shoal_add_edat_refusal(bad_target
                       "edatFireEvent: .a. cannot be fired to rank 99: the ranks are 0 to 0")
shoal_add_edat_refusal(any_target
                       "edatFirePersistentEvent: .a. cannot be fired to EDAT_ANY: name a rank")
shoal_add_edat_refusal(null_id "edatFireEvent: the event identifier is NULL")
shoal_add_edat_refusal(null_data "edatFireEvent: .a. has 1 element, but the data are NULL")
shoal_add_edat_refusal(negative_count "edatFireEvent: the number of elements of \"a\" is -1")
shoal_add_edat_refusal(null_task "edatSubmitTask: the task's function is NULL")
shoal_add_edat_refusal(null_name "edatSubmitNamedTask: the task's name is NULL")
shoal_add_edat_refusal(bad_source
                       "edatSubmitNamedTask: .a. cannot come from rank 99: the ranks are 0 to 0")
shoal_add_edat_refusal(null_source_id "edatSubmitTask: an event identifier is NULL")
shoal_add_edat_refusal(persistent_without "edatSubmitPersistentTask: .*depends on nothing")
shoal_add_edat_refusal(negative_options
                       "edatInitWithConfiguration: the number of options is -1")
shoal_add_edat_refusal(negative_dependencies "edatSubmitTask: the number of dependencies is -1")
shoal_add_edat_refusal(negative_named "edatSubmitNamedTask: the number of dependencies is -2")
shoal_add_edat_refusal(negative_wait "edatWait: the number of dependencies is -1")
shoal_add_edat_refusal(negative_retrieve "edatRetrieveAny: the number of dependencies is -1")
shoal_add_edat_refusal(null_lock "edatLock: the lock's name is NULL")
shoal_add_edat_refusal(null_unlock "edatUnlock: the lock's name is NULL")
shoal_add_edat_refusal(null_test_lock "edatTestLock: the lock's name is NULL")
shoal_add_edat_refusal(null_is_submitted "edatIsTaskSubmitted: the task's name is NULL")
shoal_add_edat_refusal(null_remove "edatRemoveTask: the task's name is NULL")
shoal_add_edat_refusal(null_find_id "edatFindEvent: the event identifier is NULL")
shoal_add_edat_refusal(null_find_array "edatFindEvent: the array of events is NULL")
shoal_add_edat_refusal(null_find_event_id "edatFindEvent: the identifier of an event is NULL")
shoal_add_edat_refusal(null_retrieved "edatRetrieveAny: the place for the number of events is NULL")
shoal_add_edat_refusal(finalise_in_task "edatFinalise: call it in main.., not in a task")
shoal_add_edat_refusal(unlock "edatUnlock: the caller does not have the lock .not held.")
shoal_add_edat_refusal(unlock_of_another "edatUnlock: the caller does not have the lock .mine.")
shoal_add_edat_refusal(task_left "shoal: error: .*nothing runs any more.*waiting has 0 of 1")
shoal_add_edat_refusal(event_left
                       "shoal: error: .*nothing runs any more.*nobody.s. from rank 0 with 1 int")
shoal_add_edat_refusal(wait_left "edat: error: edatWait: .*nothing runs any more.*never")

# edatFinalise waits for a task that never returns, until the watch ends the program.
shoal_add_edat_refusal(task_never_returns
                       "runs the task 'endless' for .*the run is given up .--stall-abort.")
set_tests_properties(edat.refuses.task_never_returns
                     PROPERTIES ENVIRONMENT "SHOAL_STALL_REPORT=200ms;SHOAL_STALL_ABORT=1s")

# main() stands still like a task: what it waits for is found, and named.
shoal_add_edat_refusal(wait_left_in_main
                       "edat: error: edatWait: .*nothing runs any more.*'main..' waits .*never")
shoal_add_edat_refusal(wait_left_after_others
                       "edat: error: edatWait: .*nothing runs any more.*'main..' waits .*once")
shoal_add_edat_refusal(locks_in_main
                       "edat: error: edatLock: .*nothing runs any more.*'main..' waits .*'b'")

shoal_add_edat_refusal(comms_twice "edatLockComms: edatLockComms was called before")
shoal_add_edat_refusal(comms_not_locked "edatUnlockComms: call edatLockComms first")
shoal_add_edat_refusal(comms_at_end "edatFinalise: call edatUnlockComms first")
shoal_add_edat_refusal(comms_at_pause "edatPauseMainThread: call edatUnlockComms first")
shoal_add_edat_refusal(comms_in_wait "edatWait: no event arrives before edatUnlockComms")
shoal_add_edat_refusal(pause_in_task "edatPauseMainThread: call it in main.., not in a task")
shoal_add_edat_refusal(pause_with_task_left
                       "shoal: error: .*nothing runs any more.*waiting has 0 of 1")
shoal_add_edat_refusal(fortran_sources "edatSubmitTask_f: the array of sources is NULL")
shoal_add_edat_refusal(fortran_id "edatSubmitTask_f: an event identifier is NULL")
shoal_add_edat_refusal(fortran_greedy "edatSubmitTask_f: a greedy task has to be persistent")
shoal_add_edat_refusal(restart_before_init "edatRestart: call edatInit first")
shoal_add_edat_refusal(communicator
                       "edatInitialiseWithCommunicator: a communicator.*has loaded no MPI")

# edat_binding.h
shoal_add_edat_refusal(bound_null "edatSubmitBoundTask: the task is NULL")
shoal_add_edat_refusal(bound_null_function "edatSubmitBoundTask: the task's function is NULL")
shoal_add_edat_refusal(bound_null_sources "edatSubmitBoundTask: the array of sources is NULL")
shoal_add_edat_refusal(bound_null_ids
                       "edatSubmitBoundTask: the array of event identifiers is NULL")
shoal_add_edat_refusal(bound_negative "edatSubmitBoundTask: the number of dependencies is -1")
shoal_add_edat_refusal(bound_greedy "edatSubmitBoundTask: a greedy task has to be persistent")
shoal_add_edat_refusal(bound_persistent "edatSubmitBoundTask: .*depends on nothing")
shoal_add_edat_refusal(bound_wait_left "edat: error: edatWait: .*nothing runs any more.*never")
shoal_add_edat_refusal(bound_finalises "edatFinalise: call it in main.., not in a task")
shoal_add_edat_refusal(bound_pauses "edatPauseMainThread: call it in main.., not in a task")
shoal_add_edat_refusal(bound_null_retrieved
                       "edatRetrieveAny: the place for the number of events is NULL")
shoal_add_edat_refusal(released_capacity "edatTakeReleasedTasks: the capacity is -1")
shoal_add_edat_refusal(released_null "edatTakeReleasedTasks: the array of users is NULL")

# The environment: EDAT's variables, and shoal's own that cannot be.
shoal_add_edat_refusal(environment
                       "environment variable EDAT_PROGRESS_THREAD: 'maybe' is not allowed")
set_tests_properties(edat.refuses.environment PROPERTIES ENVIRONMENT EDAT_PROGRESS_THREAD=maybe)
shoal_add_edat_refusal(bridge "variable EDAT_ENABLE_BRIDGE: 'true' is not allowed")
set_tests_properties(edat.refuses.bridge PROPERTIES ENVIRONMENT EDAT_ENABLE_BRIDGE=true)
shoal_add_edat_refusal(ranks "shoal: error: .*--ranks 3: a process with edat.h is one rank")
set_tests_properties(edat.refuses.ranks PROPERTIES ENVIRONMENT SHOAL_RANKS=3)
shoal_add_edat_refusal(simulation "shoal: error: .*--sim: a program with edat.h")
set_tests_properties(edat.refuses.simulation PROPERTIES ENVIRONMENT SHOAL_SIM=on)
shoal_add_edat_refusal(configuration "shoal: error: .*SHOAL_WINDOW_BYTES")
set_tests_properties(edat.refuses.configuration PROPERTIES ENVIRONMENT SHOAL_WINDOW_BYTES=1)

add_test(NAME edat.reports_workers COMMAND edat_listing05)
set_tests_properties(
  edat.reports_workers
  PROPERTIES ENVIRONMENT
             "EDAT_REPORT_WORKER_MAPPING=True;EDAT_WORKER_MAPPING=linear;EDAT_NUM_WORKERS=2"
             LABELS edat
             PASS_REGULAR_EXPRESSION "edat: rank 0: worker 1 is mapped to package")

# One process ends: the launcher ends the others. Or all end together, and all report the rest.
foreach(mpi IN LISTS SHOAL_MPI_PLUGINS)
  foreach(case IN ITEMS bad_source_on_last task_left wait_left wait_left_in_main
                        wait_left_in_all_mains wait_left_for_another communicator)
    shoal_add_mpi_test(
      edat.refuses.${case}.${mpi}.np2
      MPI ${mpi}
      PROCESSES 2
      TIMEOUT 60
      COMMAND $<TARGET_FILE:edat_refusals> ${case})
    set_tests_properties(
      edat.refuses.${case}.${mpi}.np2
      PROPERTIES PASS_REGULAR_EXPRESSION
                 "edat: error: edat(Submit|Wait|Init)|shoal: error: .*nothing runs any more"
                 FAIL_REGULAR_EXPRESSION "not refused|raw type|shoal::|[.][ch]pp:")
  endforeach()
endforeach()
