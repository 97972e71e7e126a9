# cmake -DCOMMAND=<launcher and program, | between> -DSOURCE=<file> -DPROCESSES=<n> -P run.cmake
# Runs a program whose source says what it prints, in any order: lines `// output: TEXT`, or
# `// output N: TEXT` on N processes.

string(REPLACE "|" ";" command "${COMMAND}")
execute_process(
  COMMAND ${command}
  RESULT_VARIABLE result
  OUTPUT_VARIABLE output
  ERROR_VARIABLE errors)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "ended with ${result}\n${output}${errors}")
endif()

file(STRINGS "${SOURCE}" lines REGEX "^(//|!) output( ${PROCESSES})?: ")
list(TRANSFORM lines REPLACE "^(//|!) output[^:]*: " "")
list(SORT lines)
string(REGEX REPLACE "\n+$" "" output "${output}")
string(REPLACE "\n" ";" printed "${output}")
list(SORT printed)
if(NOT lines)
  message(FATAL_ERROR "${SOURCE} does not say what it prints on ${PROCESSES} processes")
endif()
if(NOT printed STREQUAL lines)
  list(JOIN lines "\n  " lines)
  list(JOIN printed "\n  " printed)
  message(FATAL_ERROR "expected, in any order:\n  ${lines}\nprinted:\n  ${printed}\n${errors}")
endif()
