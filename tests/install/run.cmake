# Commands of the tests of this folder. Their output is in `output`.

macro(run_any)
  execute_process(
    COMMAND ${ARGN}
    COMMAND_ECHO STDOUT
    RESULT_VARIABLE result
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  message("${output}")
endmacro()

function(run)
  run_any(${ARGN})
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed (${result})")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(must_fail)
  run_any(${ARGN})
  if(result EQUAL 0)
    message(FATAL_ERROR "succeeded, but must not")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# expect(<regex>): the output of the last command matches. CMake breaks the lines of its messages.
function(expect pattern)
  string(REGEX REPLACE "\n +" " " lines "${output}")
  if(NOT output MATCHES "${pattern}" AND NOT lines MATCHES "${pattern}")
    message(FATAL_ERROR "does not match: ${pattern}")
  endif()
endfunction()

function(expect_not pattern)
  string(REGEX REPLACE "\n +" " " lines "${output}")
  if(lines MATCHES "${pattern}")
    message(FATAL_ERROR "matches: ${pattern}")
  endif()
endfunction()
