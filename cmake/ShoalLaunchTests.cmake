# Tests of launches: how they begin, and how they end when a process fails.

# One process of four is killed, or stops for ever: the others must end, with a message.
function(shoal_add_kill_tests)
  foreach(variant IN LISTS SHOAL_MPI_VARIANTS)
    shoal_add_end_test(
      ${variant}
      missing_thread
      PROGRAM missing_thread
      PATTERNS "no thread for worker 1 of rank 1"
      ARGS --workers 2)
    foreach(near IN ITEMS 4 1) # through the memory of the node, and over MPI alone
      shoal_add_end_test(
        ${variant}
        kill_rank_near${near}
        PROGRAM kill_rank
        PATTERNS "[Ss]ignal|[Kk]illed|TERMINATION|EXIT"
        ARGS --node-processes ${near})
    endforeach()
    if(NOT SHOAL_SANITIZE) # which have handlers of their own
      shoal_add_end_test(
        ${variant}
        crash
        PROGRAM kill_rank
        PATTERNS "SIGSEGV. at address 0x10 in a task on rank 3, worker 0" "its name: 'careless'"
        ARGS crash)
    endif()
    foreach(silent IN ITEMS 0 3)
      shoal_add_end_test(
        ${variant}
        stall_abort_${silent}
        PROGRAM stall_abort
        LIMIT 120
        PATTERNS "rank ${silent} does not answer" "the run is given up"
        ARGS ${silent} --stall-abort 1s)
    endforeach()
    shoal_add_end_test(
      ${variant}
      stall_abort_exit
      PROGRAM stall_abort
      PATTERNS "this process exits" "the run is given up"
      ARGS exit --stall-abort 1s)
    shoal_mpi_test_program(stall_abort ${variant} program)
    shoal_add_mpi_test(
      mpi.${variant}.stall_abort_busy
      VARIANT ${variant}
      PROCESSES 2
      TIMEOUT 120
      COMMAND ${program} busy --workers 1 --stall-abort 5s)
  endforeach()
endfunction()

# shoal_add_end_test(<variant> <test> PROGRAM <p> [LIMIT <s>] PATTERNS <regex>...
#                    [ARGS <argument>...])
# A launch of 4 processes that must end by an error, with output that matches the patterns.
function(shoal_add_end_test variant test)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "PROGRAM;LIMIT" "PATTERNS;ARGS")
  if(NOT arg_LIMIT)
    set(arg_LIMIT 30)
  endif()
  shoal_mpi_test_program(${arg_PROGRAM} ${variant} program)
  shoal_mpi_launcher(${variant} 4 launcher)
  list(JOIN launcher "|" command)
  list(JOIN program "|" program)
  list(JOIN arg_ARGS "|" arguments)
  list(JOIN arg_PATTERNS "@" patterns)
  set(test mpi.${variant}.${test})
  add_test(NAME ${test}
           COMMAND "${CMAKE_COMMAND}" "-DCOMMAND=${command}|${program}|${arguments}"
                   "-DPATTERNS=${patterns}" -DLIMIT_S=${arg_LIMIT} -P
                   "${PROJECT_SOURCE_DIR}/tests/mpi/kill_rank.cmake")
  math(EXPR timeout "${arg_LIMIT} + 30")
  shoal_test_properties(${test} mpi ${timeout} PROCESSORS 1) # waits more than it computes
  set_tests_properties(${test} PROPERTIES ENVIRONMENT "${SHOAL_MPI_ENVIRONMENT}")
endfunction()

# Two jobs at once where /dev/shm is small. MPICH itself does not start there.
function(shoal_add_small_shm_test)
  if(NOT openmpi IN_LIST SHOAL_MPI_VARIANTS)
    return()
  endif()
  shoal_mpi_launcher(openmpi 4 launcher)
  shoal_mpi_test_program(runtime_stream_test openmpi program)
  add_test(NAME mpi.openmpi.small_shm COMMAND "${PROJECT_SOURCE_DIR}/tests/mpi/small_shm"
                                              ${launcher} ${program})
  shoal_test_properties(mpi.openmpi.small_shm mpi 120 PROCESSORS 2 SKIP_RETURN_CODE 77)
  set_tests_properties(mpi.openmpi.small_shm PROPERTIES ENVIRONMENT "${SHOAL_MPI_ENVIRONMENT}")
endfunction()

# A process that exits while others are in a world, or start another one: all end.
function(shoal_add_exit_tests)
  foreach(variant IN LISTS SHOAL_MPI_VARIANTS)
    shoal_add_end_test(
      ${variant}
      exit_inside
      PROGRAM runtime_launch_test
      PATTERNS "process 0 exits inside shoal::run"
      ARGS exit)
    shoal_add_end_test(
      ${variant}
      exit_between
      PROGRAM runtime_launch_test
      PATTERNS "a process of this launch exits"
      ARGS leave)
  endforeach()
endfunction()

# --info of a launch.
function(shoal_add_info_tests)
  string(CONCAT pattern "6 ranks, 2 workers each, in 2 processes on 1 node.*MPI_THREAD_MULTIPLE.*"
                "1 other process .*process 1: ranks 3-5")
  foreach(variant IN LISTS SHOAL_MPI_VARIANTS)
    shoal_mpi_test_program(kill_rank ${variant} program)
    shoal_add_mpi_test(
      mpi.${variant}.info
      VARIANT ${variant}
      PROCESSES 2
      TIMEOUT 60
      PATTERN "${pattern}"
      COMMAND ${program} --info --ranks-per-process 3 --workers 2 --shared-mpi)
  endforeach()
endfunction()

# A program of one MPI, started by the other one's launcher: each process would be alone.
function(shoal_add_wrong_launcher_test)
  if(NOT ("openmpi" IN_LIST SHOAL_MPI_VARIANTS AND "mpich" IN_LIST SHOAL_MPI_VARIANTS))
    return()
  endif()
  shoal_mpi_test_program(runtime_launch_test mpich program)
  shoal_add_mpi_test(
    mpi.wrong_launcher
    VARIANT openmpi
    PROCESSES 2
    TIMEOUT 60
    COMMAND ${program})
  set_tests_properties(mpi.wrong_launcher PROPERTIES PASS_REGULAR_EXPRESSION
                                                     "shoal: error: .*processes")
endfunction()

# A simulated world cannot be a part of a launch.
function(shoal_add_launched_simulation_test)
  if(NOT SHOAL_MPI_VARIANTS)
    return()
  endif()
  list(GET SHOAL_MPI_VARIANTS 0 variant)
  shoal_mpi_test_program(runtime_launch_test ${variant} program)
  shoal_add_mpi_test(
    mpi.launched_simulation
    VARIANT ${variant}
    PROCESSES 2
    TIMEOUT 60
    COMMAND ${program} --sim)
  set_tests_properties(mpi.launched_simulation PROPERTIES PASS_REGULAR_EXPRESSION
                                                          "--sim: a simulated world has all")
endfunction()
