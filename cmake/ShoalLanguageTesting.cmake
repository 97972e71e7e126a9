# Tests of the interfaces for C and Fortran.

# A program of the tests in C or Fortran, with shoal::<library>.
function(shoal_c_test_program target source library)
  add_executable(${target} "${source}")
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:-Wall>
                                           $<$<BOOL:${SHOAL_WERROR}>:-Werror>)
  set_target_properties(${target} PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
  if(SHOAL_SANITIZE) # the program brings what the sanitizers need, of C++ too
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
  target_link_libraries(${target} PRIVATE shoal::${library})
endfunction()

# shoal_add_output_test(<test> LABEL <l> SOURCE <file> PROCESSES <n> TIMEOUT <s>
#                       COMMAND <command>...)
# The program prints what its source says (tests/edat/run.cmake).
function(shoal_add_output_test test)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;SOURCE;PROCESSES;TIMEOUT" "COMMAND")
  list(JOIN arg_COMMAND "|" command)
  add_test(NAME ${test}
           COMMAND "${CMAKE_COMMAND}" "-DCOMMAND=${command}" "-DSOURCE=${arg_SOURCE}"
                   "-DPROCESSES=${arg_PROCESSES}" -P "${PROJECT_SOURCE_DIR}/tests/edat/run.cmake")
  shoal_test_properties(${test} ${arg_LABEL} ${arg_TIMEOUT})
  if(arg_PROCESSES GREATER 1)
    set_tests_properties(${test} PROPERTIES PROCESSORS 2)
  endif()
  set_tests_properties(${test} PROPERTIES ENVIRONMENT "${SHOAL_MPI_ENVIRONMENT}")
endfunction()

# The C interface, embedded, simulated and over each MPI.
function(shoal_add_c_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TIMEOUT" "")
  shoal_c_test_program(c_event_calls "${PROJECT_SOURCE_DIR}/tests/c/event_calls.c" c)
  target_compile_options(c_event_calls PRIVATE -Wextra -Wpedantic)
  foreach(mpi IN LISTS SHOAL_MPI_PLUGINS)
    foreach(processes IN ITEMS 1 2 4)
      shoal_add_mpi_test(
        c.event_calls.${mpi}.np${processes}
        MPI ${mpi}
        PROCESSES ${processes}
        TIMEOUT ${arg_TIMEOUT}
        COMMAND $<TARGET_FILE:c_event_calls> mine --workers 2)
    endforeach()
  endforeach()
  foreach(options IN ITEMS "--ranks 1 --workers 1" "--ranks 3 --workers 2"
                           "--sim-check --ranks 4 --workers 2 --sim-order uniform")
    string(REGEX REPLACE "[ -]+" "_" name "${options}")
    separate_arguments(options UNIX_COMMAND "${options}")
    add_test(NAME c.event_calls${name} COMMAND ${SHOAL_TEST_LAUNCHER}
                                                $<TARGET_FILE:c_event_calls> mine ${options})
    shoal_test_properties(c.event_calls${name} c ${arg_TIMEOUT})
  endforeach()

  shoal_c_test_program(c_machine_events "${PROJECT_SOURCE_DIR}/tests/c/machine_events.c" c)
  target_compile_options(c_machine_events PRIVATE -Wextra -Wpedantic)
  foreach(workers IN ITEMS 1 2)
    add_test(NAME c.machine_events.workers${workers}
             COMMAND ${SHOAL_TEST_LAUNCHER} $<TARGET_FILE:c_machine_events> --workers
                     ${workers})
    shoal_test_properties(c.machine_events.workers${workers} c ${arg_TIMEOUT})
  endforeach()

  shoal_c_test_program(c_event_failures "${PROJECT_SOURCE_DIR}/tests/c/event_failures.c" c)
  foreach(case IN ITEMS task stuck stuck_waiting repaired wait_in_task task_in_the_end
                        repaired_badly)
    foreach(ranks IN ITEMS 1 3)
      set(code 3)
      if(case MATCHES "task_in_the_end|repaired_badly")
        set(code 1)
      endif()
      add_test(NAME c.event_failures.${case}.ranks${ranks}
               COMMAND "${CMAKE_COMMAND}" "-DCODE=${code}"
                       "-DCOMMAND=$<TARGET_FILE:c_event_failures>;${case};--ranks;${ranks}"
                       -P "${PROJECT_SOURCE_DIR}/tests/c/expect_code.cmake")
      shoal_test_properties(c.event_failures.${case}.ranks${ranks} c ${arg_TIMEOUT})
    endforeach()
  endforeach()
endfunction()

# The shared libraries, loaded by dlopen() from C and from Python.
function(shoal_add_load_library_test)
  add_executable(c_load_library "${PROJECT_SOURCE_DIR}/tests/c/load_library.c")
  target_compile_options(c_load_library PRIVATE -Wall -Wextra -Wpedantic)
  set_target_properties(c_load_library PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
  target_include_directories(c_load_library PRIVATE "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(c_load_library PRIVATE ${CMAKE_DL_LIBS})
  add_dependencies(c_load_library shoal_c shoal_edat)
  add_test(NAME c.load_library
           COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/c/load_library_test.py"
                   $<TARGET_FILE:c_load_library> $<TARGET_FILE:shoal_c>
                   $<TARGET_FILE:shoal_edat>)
  shoal_test_properties(c.load_library c 60)
endfunction()

# Every tests/fortran/*.f90 is a program with the module shoal_events; see shoal_add_edat_tests().
function(shoal_add_fortran_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TIMEOUT" "")
  if(NOT SHOAL_HAS_FORTRAN)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fortran/*.f90")
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    set(program fortran_${name})
    shoal_c_test_program(${program} "${source}" fortran)
    target_compile_options(${program} PRIVATE -std=f2018 -Wall -Wno-unused-dummy-argument)
    set_target_properties(${program} PROPERTIES Fortran_MODULE_DIRECTORY
                                                "${CMAKE_CURRENT_BINARY_DIR}/${program}.mod")
    foreach(mpi IN ITEMS none ${SHOAL_MPI_PLUGINS})
      foreach(ranks IN ITEMS 1 2 4)
        set(command $<TARGET_FILE:${program}> --workers 2)
        set(label fortran)
        if(mpi STREQUAL "none")
          list(APPEND command --ranks ${ranks})
        else()
          shoal_mpi_launcher(${mpi} ${ranks} launcher)
          list(PREPEND command ${launcher})
          set(label mpi)
        endif()
        shoal_add_output_test(
          fortran.${name}.${mpi}.np${ranks}
          LABEL ${label}
          SOURCE "${source}"
          PROCESSES ${ranks}
          TIMEOUT ${arg_TIMEOUT}
          COMMAND ${command})
      endforeach()
    endforeach()
  endforeach()
endfunction()
