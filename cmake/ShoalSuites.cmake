# Tests that run programs as users do: the suites of tests/suites, in Python.

# What they know of this build (tests/suites/suite.py). Sanitizers know nothing of an MPI.
set(suite_launchers "")
set(suite_mpis ${SHOAL_MPI_PLUGINS})
if(SHOAL_SANITIZE)
  set(suite_mpis "")
endif()
foreach(mpi IN LISTS suite_mpis)
  shoal_mpi_launcher(${mpi} "" launcher)
  list(JOIN launcher "\", \"" launcher)
  list(APPEND suite_launchers "\"${mpi}\": [\"${launcher}\"]")
endforeach()
list(JOIN suite_launchers ", " suite_launchers)

# Sets `out` to a list in JSON.
function(shoal_json_list out)
  list(JOIN ARGN "\", \"" text)
  set(${out} "[]" PARENT_SCOPE)
  if(ARGN)
    set(${out} "[\"${text}\"]" PARENT_SCOPE)
  endif()
endfunction()

shoal_json_list(suite_mpis ${suite_mpis})
shoal_json_list(suite_environment ${SHOAL_MPI_ENVIRONMENT})
shoal_json_list(suite_prefix ${SHOAL_TEST_LAUNCHER})
set(suite_variables "")
foreach(name IN ITEMS CMAKE_COMMAND CMAKE_CXX_COMPILER CMAKE_C_COMPILER CMAKE_Fortran_COMPILER
                      CMAKE_BUILD_TYPE PROJECT_VERSION SHOAL_TEST_CCACHE SHOAL_COVERAGE SHOAL_GDB)
  list(APPEND suite_variables "\"${name}\": \"${${name}}\"")
endforeach()
list(JOIN suite_variables ", " suite_variables)
set(suite_includes $<TARGET_PROPERTY:shoal_shoal,INTERFACE_INCLUDE_DIRECTORIES>)
file(GENERATE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/suites.json" CONTENT "{
\"source\": \"${PROJECT_SOURCE_DIR}\", \"data\": \"${SHOAL_DATA_DIR}\",
\"mpis\": ${suite_mpis}, \"launchers\": {${suite_launchers}},
\"mpi_environment\": ${suite_environment}, \"prefix\": ${suite_prefix},
\"sanitize\": \"${SHOAL_SANITIZE}\", \"timeout_scale\": ${SHOAL_TEST_TIMEOUT_SCALE},
\"variables\": {${suite_variables}},
\"includes\": \"$<JOIN:$<REMOVE_DUPLICATES:${suite_includes}>, >\",
\"targets\": \"$<JOIN:$<TARGET_PROPERTY:check_programs,SHOAL_SUITE_PROGRAMS>, >\"
}
")

# shoal_add_suites(<kind> [REST] [TIMEOUT <s>] [PROGRAMS <target>...] SUITES <name>...)
# The ctest tests <kind>.<name>, of tests/suites/<kind>_<name>.py. PROGRAMS: what they run, if this
# build has it. `make check` builds and runs all that where it runs this kind (SHOAL_CHECK_KINDS),
# without REST.
function(shoal_add_suites kind)
  cmake_parse_arguments(PARSE_ARGV 1 arg "REST" "TIMEOUT" "PROGRAMS;SUITES")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  set(programs "")
  foreach(program IN LISTS arg_PROGRAMS)
    if(TARGET ${program})
      list(APPEND programs ${program})
      set_target_properties(${program} PROPERTIES EXCLUDE_FROM_ALL OFF)
    endif()
  endforeach()
  set_property(TARGET check_programs APPEND PROPERTY SHOAL_SUITE_PROGRAMS ${programs})
  foreach(name IN LISTS arg_SUITES)
    add_test(NAME ${kind}.${name}
             COMMAND Python3::Interpreter -B "${PROJECT_SOURCE_DIR}/tests/suites/${kind}_${name}.py"
                     --build "${PROJECT_BINARY_DIR}")
    shoal_test_properties(${kind}.${name} ${kind} ${arg_TIMEOUT} PROCESSORS 2 SKIP_RETURN_CODE 77)
    if(NOT arg_REST)
      shoal_in_check(${kind} TESTS ${kind}.${name} PROGRAMS ${programs})
    endif()
  endforeach()
endfunction()
