# A rank that is killed, or that says nothing any more, ends the others within the time limit, with
# a message that matches the patterns and a non-zero exit code.
#   cmake "-DCOMMAND=launcher|-n|4|program" "-DPATTERNS=regex@regex" -DLIMIT_S=30 -P kill_rank.cmake
string(REPLACE "|" ";" command "${COMMAND}")
execute_process(
  COMMAND ${command}
  TIMEOUT ${LIMIT_S}
  RESULT_VARIABLE result
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)
if(result MATCHES "timeout")
  message(FATAL_ERROR "the other processes still run after ${LIMIT_S} s:\n${output}")
endif()
if(result EQUAL 0)
  message(FATAL_ERROR "the launch ended with exit code 0:\n${output}")
endif()
string(REPLACE "@" ";" patterns "${PATTERNS}")
foreach(pattern IN LISTS patterns)
  if(NOT output MATCHES "${pattern}")
    message(FATAL_ERROR "nothing matches '${pattern}':\n${output}")
  endif()
endforeach()
message(STATUS "ended with ${result}:\n${output}")
