# Tests that a launcher of an MPI starts.

if(mpich IN_LIST SHOAL_MPI_PLUGINS)
  add_library(shoal_mpich_yield SHARED "${PROJECT_SOURCE_DIR}/tests/support/mpich_yield.cpp")
  shoal_target_defaults(shoal_mpich_yield)
  target_link_libraries(shoal_mpich_yield PRIVATE ${CMAKE_DL_LIBS})
endif()

# Sets `out` to the launcher of an MPI with its options, ready for the program.
function(shoal_mpi_launcher mpi processes out)
  if(mpi STREQUAL "openmpi")
    find_program(SHOAL_MPIRUN_OPENMPI NAMES mpirun.openmpi orterun)
    set(command "${SHOAL_MPIRUN_OPENMPI}" --oversubscribe --allow-run-as-root --bind-to none -n)
  elseif(mpi STREQUAL "mpich")
    find_program(SHOAL_MPIRUN_MPICH NAMES mpirun.mpich mpiexec.hydra)
    set(command "${SHOAL_MPIRUN_MPICH}" -genv LD_PRELOAD $<TARGET_FILE:shoal_mpich_yield> -n)
  else()
    set(command "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_PREFLAGS} ${MPIEXEC_NUMPROC_FLAG})
  endif()
  list(GET command 0 program)
  if(NOT program)
    message(FATAL_ERROR "No mpirun for ${mpi}: its tests cannot run. Install it (tools/setup "
                        "does), or leave ${mpi} out of SHOAL_MPI.")
  endif()
  set(${out} ${command} ${processes} PARENT_SCOPE)
endfunction()

# shoal_add_mpi_test(<test> MPI <v> PROCESSES <n> TIMEOUT <s> [PATTERN <regex>]
#                    COMMAND <program> [<argument>...])
# One launch of a program under the launcher of its MPI.
function(shoal_add_mpi_test test)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MPI;PROCESSES;TIMEOUT;PATTERN" "COMMAND")
  shoal_mpi_launcher(${arg_MPI} ${arg_PROCESSES} launcher)
  shoal_expecting("${arg_PATTERN}" command ${launcher} ${arg_COMMAND})
  add_test(NAME ${test} COMMAND ${command})
  shoal_test_properties(${test} mpi ${arg_TIMEOUT} PROCESSORS 2)
  set_tests_properties(${test} PROPERTIES ENVIRONMENT "${SHOAL_MPI_ENVIRONMENT}")
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

# Sets `out` to the command that runs a program of tests/mpi/ on an MPI.
function(shoal_mpi_test_program name mpi out)
  if(name IN_LIST SHOAL_TESTS_WITH_MPI)
    set(${out} $<TARGET_FILE:mpi_${mpi}_tests> ${name} PARENT_SCOPE)
  else()
    set(${out} $<TARGET_FILE:mpi_tests> ${name} PARENT_SCOPE)
  endif()
endfunction()

# Every tests/mpi/*.cpp with a main function is a program (0 = passed). They are linked into one,
# mpi_tests (tests/support/joined_program.hpp), which runs on every MPI; those that call MPI
# themselves into one for each, mpi_<mpi>_tests. Each *_test.cpp runs on each number of processes as
# mpi.<mpi>.<name>.np<processes>; for 4/2, on 4 of which 2 at most share memory, as ..._near2,
# except tests that take long or send little. A source that says "Run on N processes." runs on as
# many only. Over each MPI but the first, long tests of layers above the transport run on 2 and on
# 4/2, which between them have all ways of a message.
macro(shoal_add_mpi_tests)
  cmake_parse_arguments(arg "" "TIMEOUT" "PROCESSES" ${ARGN})
  if(SHOAL_MPI_PLUGINS)
    shoal_build_mpi_tests()
    shoal_run_mpi_tests()
  endif()
endmacro()

macro(shoal_build_mpi_tests)
  set(folder "${PROJECT_SOURCE_DIR}/tests/mpi")
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  set(call_mpi "") # mpi.h
  set(need_mpi "") # functions of those
  set(without_mpi "")
  set(parts "") # of both
  set(SHOAL_TESTS_WITH_MPI "")
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    file(STRINGS "${source}" calls REGEX "<(shoal/)?mpi.h|/transport_harness.hpp")
    file(STRINGS "${source}" needs REGEX "/mpi_launch.hpp")
    file(STRINGS "${source}" is_program REGEX "^int main\\(")
    if(calls)
      list(APPEND call_mpi "${source}")
      list(APPEND SHOAL_TESTS_WITH_MPI ${name})
    elseif(needs)
      list(APPEND need_mpi "${source}")
      list(APPEND SHOAL_TESTS_WITH_MPI ${name})
    elseif(is_program)
      list(APPEND without_mpi "${source}")
    else()
      list(APPEND parts "${source}")
    endif()
  endforeach()
  add_library(mpi_test_parts OBJECT ${parts})
  shoal_test_defaults(mpi_test_parts shoal_object shoal_runtime)
  set(main "${PROJECT_SOURCE_DIR}/tests/support/joined_programs_main.cpp")
  shoal_test_program(mpi_tests "${main}" mpi_test_parts test_programs shoal::shoal)
  shoal_join_sources(mpi_tests "tests$" ${without_mpi})
  add_library(mpi_needing_tests OBJECT)
  shoal_test_defaults(mpi_needing_tests shoal_object shoal_runtime)
  shoal_join_sources(mpi_needing_tests "tests$" ${need_mpi})
  foreach(mpi IN LISTS SHOAL_MPI_PLUGINS)
    shoal_test_program(mpi_${mpi}_tests "${main}" mpi_needing_tests mpi_test_parts test_programs
                       shoal::shoal ${SHOAL_MPI_${mpi}_TARGET})
    shoal_join_sources(mpi_${mpi}_tests "tests$" ${call_mpi})
    shoal_in_check(mpi PROGRAMS mpi_tests mpi_${mpi}_tests)
  endforeach()
  list(GET SHOAL_MPI_PLUGINS 0 mpi)
  add_library(mpi_single_files OBJECT EXCLUDE_FROM_ALL ${sources}) # for clang-tidy
  shoal_test_defaults(mpi_single_files shoal::shoal ${SHOAL_MPI_${mpi}_TARGET})
endmacro()

macro(shoal_run_mpi_tests)
  file(GLOB tests CONFIGURE_DEPENDS "${folder}/*_test.cpp")
  list(GET SHOAL_MPI_PLUGINS 0 first)
  foreach(mpi IN LISTS SHOAL_MPI_PLUGINS)
    foreach(source IN LISTS tests)
      cmake_path(GET source STEM name)
      set(entries ${arg_PROCESSES})
      file(STRINGS "${source}" own REGEX "^// .*Run on [0-9]+ processes\\.")
      if(own)
        string(REGEX REPLACE ".*Run on ([0-9]+) processes.*" "\\1" entries "${own}")
      elseif(NOT mpi STREQUAL first AND name MATCHES "_(world|lifetime|stall)_test$")
        set(entries 2 4/2)
      endif()
      foreach(entry IN LISTS entries)
        string(REGEX MATCH "^([0-9]+)(/([0-9]+))?$" matched "${entry}")
        set(processes ${CMAKE_MATCH_1})
        set(near ${CMAKE_MATCH_3})
        set(test mpi.${mpi}.${name}.np${processes})
        if(near)
          if(name MATCHES "_(stall|huge_message|init|launch|single|funneled)_test$")
            continue()
          endif()
          string(APPEND test _near${near})
        endif()
        shoal_mpi_test_program(${name} ${mpi} program)
        shoal_add_mpi_test(
          ${test}
          MPI ${mpi}
          PROCESSES ${processes}
          TIMEOUT ${arg_TIMEOUT}
          COMMAND ${program})
        if(own OR entry MATCHES "^(2|4/2)$") # which between them have all ways of a message
          shoal_in_check(mpi TESTS ${test})
        endif()
        if(name MATCHES "_stall_test$") # waits more than it computes
          set_tests_properties(${test} PROPERTIES PROCESSORS 1)
        endif()
        if(near)
          set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT_MODIFICATION
                                                    SHOAL_NODE_PROCESSES=set:${near})
        endif()
      endforeach()
    endforeach()
  endforeach()
endmacro()
