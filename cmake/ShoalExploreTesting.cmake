# Searches: of interleavings by shoal-explore, of the states of the completion model by spin.

# A program of tests/explore/; mutants of it share its object.
function(shoal_explored_program target program)
  if(NOT TARGET explored_${program})
    add_library(explored_${program} OBJECT "${PROJECT_SOURCE_DIR}/tests/explore/${program}.cpp")
    shoal_test_defaults(explored_${program} shoal_runtime)
  endif()
  shoal_test_program(${target} "$<TARGET_OBJECTS:explored_${program}>" test_programs shoal::shoal)
endfunction()

set(SHOAL_MUTANT_WORLD --ranks 7 --workers 3)
set(SHOAL_MUTANT_OPTIONS --packet-bytes 512 --window-bytes 2048)

# shoal_add_mutant(<name> <file of src/> <from> <to> [PROGRAM <name>] [WORLD <option>...]): a
# planted bug. The program of tests/explore/, random_program by default, gets a copy of that file in
# which the text <from>, which must stand in it once, became <to>; shoal-explore must find that.
function(shoal_add_mutant name file from to)
  cmake_parse_arguments(PARSE_ARGV 4 arg "" "PROGRAM" "WORLD")
  if(NOT arg_PROGRAM)
    set(arg_PROGRAM random_program)
  endif()
  if(NOT arg_WORLD)
    set(arg_WORLD ${SHOAL_MUTANT_WORLD})
  endif()
  string(REGEX REPLACE "/.*" "" layer "${file}")
  shoal_planted_bug(mutant_${name} "${PROJECT_SOURCE_DIR}/src/${file}" "${from}" "${to}"
                    shoal_${layer} copy)
  shoal_explored_program(mutant_${name} ${arg_PROGRAM})
  target_sources(mutant_${name} PRIVATE "${copy}")
  add_test(NAME explore.mutant_${name}
           COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/explore/mutant_test.py"
                   "${PROJECT_SOURCE_DIR}/tools/shoal-explore" $<TARGET_FILE:mutant_${name}>
                   ${arg_WORLD} ${SHOAL_MUTANT_OPTIONS})
  shoal_test_properties(explore.mutant_${name} explore 120 PROCESSORS 2)
endfunction()

# Reference of a program's mutants: the same options, and no bug.
function(shoal_add_mutant_reference program)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SEEDS" "")
  add_test(NAME explore.no_mutant_of_${program}
           COMMAND "${PROJECT_SOURCE_DIR}/tools/shoal-explore" --seeds ${arg_SEEDS} --
                   $<TARGET_FILE:explore_${program}> ${SHOAL_MUTANT_WORLD}
                   ${SHOAL_MUTANT_OPTIONS})
  shoal_test_properties(explore.no_mutant_of_${program} explore 120 PROCESSORS 2)
endfunction()

# A hundred seeds of every application, program of the tutorial and random program, in all orders
# and with faults that must not change any result.
function(shoal_add_explore_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SEEDS;TIMEOUT" "")
  get_property(programs GLOBAL PROPERTY SHOAL_TUTORIALS)
  set(faults "delay:p=0.05,by=100us;delay:p=0.01,by=5ms;pause:rank=1,at=20us,for=2ms")
  math(EXPR fate_seeds "${arg_SEEDS} / 2") # two programs share what one takes
  foreach(program IN ITEMS random_program random_event_program)
    shoal_explored_program(explore_${program} ${program})
    foreach(fate IN ITEMS --fails --gets-stuck)
      add_test(NAME explore.${program}${fate}
               COMMAND "${PROJECT_SOURCE_DIR}/tools/shoal-explore" --seeds ${fate_seeds} --faults
                       "${faults}" -- $<TARGET_FILE:explore_${program}> --ranks 5 --workers 2
                       ${fate})
      shoal_test_properties(explore.${program}${fate} explore ${arg_TIMEOUT} PROCESSORS 2)
    endforeach()
    shoal_add_mutant_reference(${program} SEEDS ${arg_SEEDS})
  endforeach()
  shoal_explored_program(explore_random_object_program random_object_program)
  shoal_explored_program(explore_random_flow_program random_flow_program)
  shoal_explored_program(explore_random_memory_program random_memory_program)
  foreach(program IN LISTS programs
          ITEMS cholesky gemm2d gemm3d bfs explore_random_program explore_random_event_program
                explore_random_object_program explore_random_flow_program
                explore_random_memory_program)
    if(NOT TARGET ${program})
      continue()
    endif()
    set(arguments --ranks 5 --workers 2)
    if(program STREQUAL "gemm3d")
      set(arguments --ranks 8 --workers 2 --n 40 --tile 10)
    elseif(program STREQUAL "bfs")
      list(APPEND arguments --scale 5 --roots 2)
    elseif(program MATCHES "cholesky|gemm2d")
      list(APPEND arguments --n 40 --tile 10)
    endif()
    add_test(NAME explore.${program}
             COMMAND "${PROJECT_SOURCE_DIR}/tools/shoal-explore" --seeds ${arg_SEEDS} --faults
                     "${faults}" -- $<TARGET_FILE:${program}> ${arguments})
    shoal_test_properties(explore.${program} explore ${arg_TIMEOUT} PROCESSORS 2)
    set_tests_properties(explore.${program} PROPERTIES ENVIRONMENT OPENBLAS_NUM_THREADS=1)
  endforeach()
  add_test(NAME explore.explore
           COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/explore/explore_test.py"
                   "${PROJECT_SOURCE_DIR}/tools/shoal-explore")
  shoal_test_properties(explore.explore explore ${arg_TIMEOUT})
endfunction()

# Programs with and without data races, for --sim-races.
function(shoal_add_race_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TIMEOUT" "")
  shoal_test_program(explore_races "${PROJECT_SOURCE_DIR}/tests/explore/races.cpp" shoal::shoal)
  add_test(NAME explore.races
           COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/explore/races_test.py"
                   "${PROJECT_SOURCE_DIR}/tools/shoal-explore" $<TARGET_FILE:explore_races>)
  shoal_test_properties(explore.races explore ${arg_TIMEOUT} PROCESSORS 2)
endfunction()

# Every world of tests/model/check_completion, which knows what must come of it.
function(shoal_add_completion_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TIMEOUT" "")
  set(check "${PROJECT_SOURCE_DIR}/tests/model/check_completion")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${check}")
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" "${check}" --list
    OUTPUT_VARIABLE worlds
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" worlds "${worlds}")
  foreach(world IN LISTS worlds)
    add_test(NAME model.completion.${world}
             COMMAND Python3::Interpreter "${check}" ${world} --launcher "${SHOAL_TEST_CCACHE}"
                     --scratch "${CMAKE_CURRENT_BINARY_DIR}/model_completion/${world}")
    shoal_test_properties(model.completion.${world} model ${arg_TIMEOUT})
  endforeach()
endfunction()
