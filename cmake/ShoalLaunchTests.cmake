# Tests of launches: how they begin, and how they end when a process fails.

# One process of four is killed, or stops for ever: the others must end, with a message.
function(shoal_add_kill_tests)
  foreach(mpi IN LISTS SHOAL_MPI_PLUGINS)
    shoal_add_end_test(
      ${mpi}
      missing_thread
      PROGRAM missing_thread
      PATTERNS "no thread for worker 1 of rank 1"
      ARGS --workers 2)
    foreach(near IN ITEMS 4 1) # through the memory of the node, and over MPI alone
      shoal_add_end_test(
        ${mpi}
        kill_rank_near${near}
        PROGRAM kill_rank
        PATTERNS "[Ss]ignal|[Kk]illed|TERMINATION|EXIT"
        ARGS --node-processes ${near})
    endforeach()
    if(NOT SHOAL_SANITIZE) # which have handlers of their own
      shoal_add_end_test(
        ${mpi}
        crash
        PROGRAM kill_rank
        PATTERNS "SIGSEGV. at address 0x10 in a task on rank 3, worker 0" "its name: 'careless'"
        ARGS crash)
    endif()
    foreach(silent IN ITEMS 0 3)
      shoal_add_end_test(
        ${mpi}
        stall_abort_${silent}
        PROGRAM stall_abort
        LIMIT 120
        PATTERNS "rank ${silent} does not answer" "the run is given up"
        ARGS ${silent} --stall-abort 1s)
    endforeach()
    shoal_add_end_test(
      ${mpi}
      stall_abort_exit
      PROGRAM stall_abort
      PATTERNS "this process exits" "the run is given up"
      ARGS exit --stall-abort 1s)
    shoal_mpi_test_program(stall_abort ${mpi} program)
    shoal_add_mpi_test(
      mpi.${mpi}.stall_abort_busy
      MPI ${mpi}
      PROCESSES 2
      TIMEOUT 120
      COMMAND ${program} busy --workers 1 --stall-abort 5s)
  endforeach()
endfunction()

# shoal_add_end_test(<variant> <test> PROGRAM <p> [LIMIT <s>] PATTERNS <regex>...
#                    [ARGS <argument>...])
# A launch of 4 processes that must end by an error, with output that matches the patterns.
function(shoal_add_end_test mpi test)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "PROGRAM;LIMIT" "PATTERNS;ARGS")
  if(NOT arg_LIMIT)
    set(arg_LIMIT 30)
  endif()
  shoal_mpi_test_program(${arg_PROGRAM} ${mpi} program)
  shoal_mpi_launcher(${mpi} 4 launcher)
  list(JOIN launcher "|" command)
  list(JOIN program "|" program)
  list(JOIN arg_ARGS "|" arguments)
  list(JOIN arg_PATTERNS "@" patterns)
  set(test mpi.${mpi}.${test})
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
  if(NOT openmpi IN_LIST SHOAL_MPI_PLUGINS)
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
  foreach(mpi IN LISTS SHOAL_MPI_PLUGINS)
    shoal_add_end_test(
      ${mpi}
      exit_inside
      PROGRAM runtime_launch_test
      PATTERNS "process 0 exits inside shoal::run"
      ARGS exit)
    shoal_add_end_test(
      ${mpi}
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
  foreach(mpi IN LISTS SHOAL_MPI_PLUGINS)
    shoal_mpi_test_program(kill_rank ${mpi} program)
    shoal_add_mpi_test(
      mpi.${mpi}.info
      MPI ${mpi}
      PROCESSES 2
      TIMEOUT 60
      PATTERN "${pattern}"
      COMMAND ${program} --info --ranks-per-process 3 --workers 2 --shared-mpi)
  endforeach()
endfunction()

# One binary for every MPI: tests/plugin.
function(shoal_add_plugin_tests)
  if(NOT SHOAL_MPI_PLUGINS OR NOT TARGET tutorial_hello)
    return()
  endif()
  shoal_test_program(mpi_bare_hello "${PROJECT_SOURCE_DIR}/apps/tutorial/hello.cpp" shoal_object
                     shoal_runtime)
  add_library(mpi_other_version MODULE "${PROJECT_SOURCE_DIR}/tests/plugin/other_version.cpp")
  target_include_directories(mpi_other_version PRIVATE "${PROJECT_SOURCE_DIR}/src")
  list(GET SHOAL_MPI_PLUGINS 0 first)
  # As with SHOAL_MPI_STATIC: its definition of linked_mpi() comes before that of the library.
  shoal_test_program(mpi_static_hello "${PROJECT_SOURCE_DIR}/apps/tutorial/hello.cpp" shoal_object
                     shoal_runtime)
  target_sources(mpi_static_hello PRIVATE "${PROJECT_SOURCE_DIR}/src/net/mpi_linked/linked.cpp"
                                          "${PROJECT_SOURCE_DIR}/src/net/mpi_plugin/mpi_plugin.cpp")
  shoal_mpi_plugin_definitions(mpi_static_hello ${first})
  set(options --static $<TARGET_FILE:mpi_static_hello> --program $<TARGET_FILE:tutorial_hello>
              --bare $<TARGET_FILE:mpi_bare_hello> --plugins
              $<TARGET_FILE_DIR:shoal_mpi_${first}> --other $<TARGET_FILE:mpi_other_version>
              --library $<TARGET_FILE:shoal_c> --c-host $<TARGET_FILE:c_load_library>)
  foreach(mpi IN LISTS SHOAL_MPI_PLUGINS)
    shoal_mpi_launcher(${mpi} "" launcher)
    list(JOIN launcher " " launcher)
    list(APPEND options --launcher "${mpi}=${launcher}")
  endforeach()
  add_test(NAME mpi.plugins COMMAND Python3::Interpreter
                                    "${PROJECT_SOURCE_DIR}/tests/plugin/plugin_test.py" ${options})
  shoal_test_properties(mpi.plugins mpi 240 PROCESSORS 2)
  add_test(
    NAME mpi.wheels
    COMMAND
      Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/plugin/wheels_test.py" --root
      "${PROJECT_SOURCE_DIR}" --program $<TARGET_FILE:tutorial_hello> --tests
      $<TARGET_FILE:mpi_tests> --scratch "${CMAKE_CURRENT_BINARY_DIR}/wheels" --cxx
      "${CMAKE_CXX_COMPILER}")
  shoal_test_properties(mpi.wheels mpi 300 PROCESSORS 2)
  shoal_in_check(mpi TESTS mpi.plugins PROGRAMS tutorial_hello mpi_bare_hello mpi_static_hello
                                                mpi_other_version shoal_c c_load_library)
  set_tests_properties(mpi.plugins PROPERTIES ENVIRONMENT "${SHOAL_MPI_ENVIRONMENT}")
endfunction()

# A simulated world cannot be a part of a launch.
function(shoal_add_launched_simulation_test)
  if(NOT SHOAL_MPI_PLUGINS)
    return()
  endif()
  list(GET SHOAL_MPI_PLUGINS 0 mpi)
  shoal_mpi_test_program(runtime_launch_test ${mpi} program)
  shoal_add_mpi_test(
    mpi.launched_simulation
    MPI ${mpi}
    PROCESSES 2
    TIMEOUT 60
    COMMAND ${program} --sim)
  set_tests_properties(mpi.launched_simulation PROPERTIES PASS_REGULAR_EXPRESSION
                                                          "--sim: a simulated world has all")
endfunction()
