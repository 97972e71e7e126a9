# cmake -DCOMPILER=... -DSOURCE=... -DHEADERS=... -DINCLUDES=... -P expect_failure.cmake
# Succeeds when SOURCE does not compile and the output matches the regex of its first line, which is
# `// expect: <regex>`. A second line `// lines: <= <number>` limits the lines of the output.
# HEADERS is a file of headers, precompiled beside it.

file(STRINGS "${SOURCE}" lines LIMIT_COUNT 2)
set(lines_max 1000000)
list(LENGTH lines line_count)
if(line_count GREATER 1)
  list(GET lines 1 second)
  if(second MATCHES "^// lines: <= ([0-9]+)$")
    set(lines_max ${CMAKE_MATCH_1})
  endif()
  list(GET lines 0 lines)
endif()
if(NOT lines MATCHES "^// expect: (.+)$")
  message(FATAL_ERROR "${SOURCE}: the first line must be `// expect: <regex of the message>`.")
endif()
string(STRIP "${CMAKE_MATCH_1}" expected)

set(ENV{LC_ALL} C) # plain quotes in the messages
list(TRANSFORM INCLUDES PREPEND -I)
execute_process(
  COMMAND "${COMPILER}" -std=c++20 -fsyntax-only -include "${HEADERS}" ${INCLUDES} "${SOURCE}"
  RESULT_VARIABLE result
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)
cmake_path(GET SOURCE FILENAME name)
if(result EQUAL 0)
  message("${name} compiles, but must not.")
  message(FATAL_ERROR "failed")
endif()
if(NOT output MATCHES "${expected}")
  message("${name} does not compile, but '${expected}' does not match the output:\n${output}")
  message(FATAL_ERROR "failed")
endif()
string(REGEX MATCHALL "\n" ends "${output}")
list(LENGTH ends count)
if(count GREATER lines_max)
  message("${name}: the compiler says it in ${count} lines, of at most ${lines_max}:\n${output}")
  message(FATAL_ERROR "failed")
endif()
