# cmake -DCOMMAND=<program>;<argument>;... -DCODE=<n> -P expect_code.cmake
execute_process(COMMAND ${COMMAND} RESULT_VARIABLE result)
if(NOT result EQUAL CODE)
  message(FATAL_ERROR "ended with ${result} instead of ${CODE}")
endif()
