# Runs of the applications and of the programs of the tutorial.

# An application that also runs under the sanitizers; see apps/CMakeLists.txt.
function(shoal_build_for_tests app)
  set_target_properties(${app} PROPERTIES EXCLUDE_FROM_ALL OFF)
endfunction()

# shoal_add_app_run(<name> [PATTERN <regex>] [LABEL <l>] [TIMEOUT <s>]
#                   COMMAND <target> [<argument>...])
# Runs an application, embedded or simulated.
function(shoal_add_app_run name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PATTERN;LABEL;TIMEOUT" "COMMAND")
  list(POP_FRONT arg_COMMAND app)
  if(NOT TARGET ${app})
    return()
  endif()
  if(NOT arg_LABEL)
    set(arg_LABEL apps)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(arg_LABEL STREQUAL "apps_small")
    shoal_build_for_tests(${app})
  endif()
  shoal_expecting("${arg_PATTERN}" command ${SHOAL_TEST_LAUNCHER} $<TARGET_FILE:${app}>
                  ${arg_COMMAND})
  add_test(NAME apps.${name} COMMAND ${command})
  shoal_test_properties(apps.${name} ${arg_LABEL} ${arg_TIMEOUT} PROCESSORS 2)
endfunction()

# The script, given the application.
function(shoal_add_app_script name script app)
  add_test(NAME apps.${name} COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/${script}"
                                     $<TARGET_FILE:${app}>)
  shoal_test_properties(apps.${name} apps 120 PROCESSORS 2)
endfunction()

# Sets `out` to the target of an application for an MPI: one that calls MPI itself is a program for
# each (apps/CMakeLists.txt). Empty when it is not built.
function(shoal_app_on_mpi app mpi out)
  if(TARGET ${app}_${mpi})
    set(${out} ${app}_${mpi} PARENT_SCOPE)
  elseif(TARGET ${app})
    set(${out} ${app} PARENT_SCOPE)
  else()
    set(${out} "" PARENT_SCOPE)
  endif()
endfunction()

# shoal_add_app_mpi_test(<name> APP <app> TIMEOUT <s> [PATTERN <regex>] PROCESSES <n>...
#                        ARGS <argument>...)
# Runs an application over each MPI: over the first one on all these numbers of processes, over the
# others on the last of them.
function(shoal_add_app_mpi_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "APP;TIMEOUT;PATTERN" "PROCESSES;ARGS")
  foreach(mpi IN LISTS SHOAL_MPI_PLUGINS)
    shoal_app_on_mpi(${arg_APP} ${mpi} program)
    if(program)
      foreach(processes IN LISTS arg_PROCESSES)
        shoal_add_mpi_test(
          apps.${name}.${mpi}.np${processes}
          MPI ${mpi}
          PROCESSES ${processes}
          TIMEOUT ${arg_TIMEOUT}
          PATTERN "${arg_PATTERN}"
          COMMAND $<TARGET_FILE:${program}> ${arg_ARGS})
      endforeach()
      list(GET arg_PROCESSES -1 arg_PROCESSES)
    endif()
  endforeach()
endfunction()

# shoal_add_app_test(<name> APP <app> TIMEOUT <s> [PATTERN <regex>] [LABEL <l>] [RANKS <n>...]
#                    [PROCESSES <n>...] ARGS <argument>...)
# Runs an application, which verifies its result: embedded, by default on 1 and 4 ranks, and on the
# processes of the MPIs, by default 2 and 4. PATTERN: what it must also print. LABEL: of the
# embedded runs; those labelled apps_small also run under the sanitizers.
function(shoal_add_app_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "APP;TIMEOUT;PATTERN;LABEL" "RANKS;PROCESSES;ARGS")
  if(NOT TARGET ${arg_APP})
    return()
  endif()
  if(NOT arg_RANKS)
    set(arg_RANKS 1 4)
  endif()
  if(NOT arg_PROCESSES)
    set(arg_PROCESSES 2 4)
  endif()
  foreach(ranks IN LISTS arg_RANKS)
    shoal_add_app_run(
      ${name}.ranks${ranks}
      PATTERN "${arg_PATTERN}"
      LABEL "${arg_LABEL}"
      TIMEOUT ${arg_TIMEOUT}
      COMMAND ${arg_APP} ${arg_ARGS} --ranks ${ranks})
  endforeach()
  shoal_add_app_mpi_test(
    ${name}
    APP ${arg_APP}
    TIMEOUT ${arg_TIMEOUT}
    PATTERN "${arg_PATTERN}"
    PROCESSES ${arg_PROCESSES}
    ARGS ${arg_ARGS})
endfunction()

# shoal_add_same_line_test(<name> APP <app> PATTERN <regex> TIMEOUT <s> ARGS <argument>...)
# The application prints the same line on 1, 2 and 4 ranks, embedded and over each MPI.
function(shoal_add_same_line_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "APP;PATTERN;TIMEOUT" "ARGS")
  if(NOT TARGET ${arg_APP})
    return()
  endif()
  list(JOIN arg_ARGS " " arguments)
  foreach(ranks IN ITEMS 1 2 4)
    list(APPEND commands "$<TARGET_FILE:${arg_APP}> ${arguments} --ranks ${ranks}")
    foreach(mpi IN LISTS SHOAL_MPI_PLUGINS)
      shoal_app_on_mpi(${arg_APP} ${mpi} program)
      if(program)
        shoal_mpi_launcher(${mpi} ${ranks} launcher)
        list(JOIN launcher " " launcher)
        list(APPEND commands "${launcher} $<TARGET_FILE:${program}> ${arguments}")
      endif()
    endforeach()
  endforeach()
  list(JOIN commands "|" commands)
  add_test(NAME apps.${name}
           COMMAND "${CMAKE_COMMAND}" "-DPATTERN=${arg_PATTERN}" "-DCOMMANDS=${commands}" -P
                   "${PROJECT_SOURCE_DIR}/tests/apps/compare_lines.cmake")
  shoal_test_properties(apps.${name} apps ${arg_TIMEOUT} PROCESSORS 2)
  set_tests_properties(apps.${name} PROPERTIES ENVIRONMENT "${SHOAL_MPI_ENVIRONMENT}")
endfunction()

# Every program of the tutorial runs on 1 and on 3 ranks and, where it was built with an MPI, in 2
# processes and in 2 with 2 ranks each.
function(shoal_add_tutorial_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TIMEOUT" "")
  get_property(programs GLOBAL PROPERTY SHOAL_TUTORIALS)
  foreach(program IN LISTS programs)
    foreach(ranks IN ITEMS 1 3)
      add_test(NAME apps.${program}.ranks${ranks} COMMAND ${program} --ranks ${ranks} --workers 2)
      shoal_test_properties(apps.${program}.ranks${ranks} apps ${arg_TIMEOUT})
      shoal_in_check(tutorial TESTS apps.${program}.ranks${ranks} PROGRAMS ${program})
    endforeach()
    if(SHOAL_MPI_PLUGINS)
      list(GET SHOAL_MPI_PLUGINS 0 mpi)
      foreach(ranks IN ITEMS 1 2)
        shoal_add_mpi_test(
          apps.${program}.${mpi}.np2x${ranks}
          MPI ${mpi}
          PROCESSES 2
          TIMEOUT ${arg_TIMEOUT}
          COMMAND $<TARGET_FILE:${program}> --workers 2 --ranks-per-process ${ranks})
        shoal_in_check(tutorial TESTS apps.${program}.${mpi}.np2x${ranks})
      endforeach()
    endif()
  endforeach()
endfunction()

# Every application and program of the tutorial in virtual time, twice.
function(shoal_add_simulation_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TIMEOUT" "")
  get_property(programs GLOBAL PROPERTY SHOAL_TUTORIALS)
  foreach(program IN LISTS programs ITEMS cholesky gemm2d gemm3d bfs)
    if(NOT TARGET ${program})
      continue()
    endif()
    shoal_build_for_tests(${program})
    set(arguments)
    if(program STREQUAL "bfs")
      set(arguments --scale 6 --roots 4)
    elseif(NOT program IN_LIST programs)
      set(arguments --n 120 --tile 20)
    endif()
    foreach(order IN ITEMS time uniform priorities late)
      add_test(NAME sim.${program}.${order}
               COMMAND ${SHOAL_TEST_LAUNCHER} $<TARGET_FILE:${program}> --sim-check --ranks 8
                       --workers 2 --sim-order ${order} ${arguments})
      shoal_test_properties(sim.${program}.${order} sim ${arg_TIMEOUT})
      set_tests_properties(sim.${program}.${order} PROPERTIES ENVIRONMENT OPENBLAS_NUM_THREADS=1)
    endforeach()
  endforeach()
endfunction()
