# Tests of the interfaces for C and Fortran.

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

