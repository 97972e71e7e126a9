# A killed rank ends the others within 30 s, with a message and a non-zero exit code.
#   cmake "-DCOMMAND=launcher|-n|4|program" -P kill_rank.cmake
string(REPLACE "|" ";" command "${COMMAND}")
execute_process(
  COMMAND ${command}
  TIMEOUT 30
  RESULT_VARIABLE result
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)
if(result MATCHES "timeout")
  message(FATAL_ERROR "the other processes still run after 30 s:\n${output}")
endif()
if(result EQUAL 0)
  message(FATAL_ERROR "the launch ended with exit code 0:\n${output}")
endif()
if(NOT output MATCHES "[Ss]ignal|[Kk]illed|TERMINATION|EXIT")
  message(FATAL_ERROR "nothing says what happened:\n${output}")
endif()
message(STATUS "ended with ${result}:\n${output}")
