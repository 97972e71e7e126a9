# cmake -DCOMMAND=<program>;<argument>;... -DPATTERN=<regex> -DTIMES=<n> [-DCODE=<n>]
#       [-DREAD_OUTPUT=ON] -P expect_error.cmake
# The command must fail with an exit code (not be killed), or just that one, and its standard error
# or output must match PATTERN exactly TIMES times.

execute_process(
  COMMAND ${COMMAND}
  RESULT_VARIABLE result
  ERROR_VARIABLE error
  OUTPUT_VARIABLE output)
message("exit code: ${result}\n${output}${error}")
if(NOT result MATCHES "^[0-9]+$" OR result EQUAL 0 OR result GREATER 120)
  message(FATAL_ERROR "expected a plain exit code that is not 0")
endif()
if(DEFINED CODE AND NOT result EQUAL CODE)
  message(FATAL_ERROR "expected the exit code ${CODE}")
endif()
if(READ_OUTPUT)
  set(error "${output}")
endif()
string(REGEX MATCHALL "${PATTERN}" found "${error}")
list(LENGTH found count)
if(NOT count EQUAL TIMES)
  message(FATAL_ERROR "'${PATTERN}' is there ${count} times instead of ${TIMES}")
endif()
