# Tests that a launcher of an MPI starts.

if(mpich IN_LIST SHOAL_MPI_VARIANTS)
  add_library(shoal_mpich_yield SHARED "${PROJECT_SOURCE_DIR}/tests/support/mpich_yield.cpp")
  shoal_target_defaults(shoal_mpich_yield)
  target_link_libraries(shoal_mpich_yield PRIVATE ${CMAKE_DL_LIBS})
endif()

# Sets `out` to the launcher of an MPI variant with its options, ready for the program.
function(shoal_mpi_launcher variant processes out)
  if(variant STREQUAL "openmpi")
    find_program(SHOAL_MPIRUN_OPENMPI NAMES mpirun.openmpi orterun)
    set(command "${SHOAL_MPIRUN_OPENMPI}" --oversubscribe --allow-run-as-root --bind-to none -n)
  elseif(variant STREQUAL "mpich")
    find_program(SHOAL_MPIRUN_MPICH NAMES mpirun.mpich mpiexec.hydra)
    set(command "${SHOAL_MPIRUN_MPICH}" -genv LD_PRELOAD $<TARGET_FILE:shoal_mpich_yield> -n)
  else()
    set(command "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_PREFLAGS} ${MPIEXEC_NUMPROC_FLAG})
  endif()
  list(GET command 0 program)
  if(NOT program)
    message(FATAL_ERROR "No mpirun for ${variant}: its tests cannot run. Install it (tools/setup "
                        "does), or leave ${variant} out of SHOAL_MPI.")
  endif()
  set(${out} ${command} ${processes} PARENT_SCOPE)
endfunction()

# shoal_add_mpi_test(<test> VARIANT <v> PROCESSES <n> TIMEOUT <s> [PATTERN <regex>]
#                    COMMAND <program> [<argument>...])
# One launch of a program under the launcher of its MPI.
function(shoal_add_mpi_test test)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "VARIANT;PROCESSES;TIMEOUT;PATTERN" "COMMAND")
  shoal_mpi_launcher(${arg_VARIANT} ${arg_PROCESSES} launcher)
  shoal_expecting("${arg_PATTERN}" command ${launcher} ${arg_COMMAND})
  add_test(NAME ${test} COMMAND ${command})
  shoal_test_properties(${test} mpi ${arg_TIMEOUT} PROCESSORS 2)
  set_tests_properties(${test} PROPERTIES ENVIRONMENT "${SHOAL_MPI_ENVIRONMENT}")
endfunction()

# Sets `out` to the command that runs a program of tests/mpi/ on an MPI.
function(shoal_mpi_test_program name variant out)
  set(${out} $<TARGET_FILE:mpi_${variant}_tests> ${name} PARENT_SCOPE)
endfunction()

# Every tests/mpi/*.cpp with a main function is a program (0 = passed). All of them are linked into
# one for each MPI, mpi_<variant>_tests (tests/support/joined_program.hpp). Sources without mpi.h
# are compiled once. Each *_test.cpp runs on each number of processes as
# mpi.<variant>.<name>.np<processes>; for 4/2, on 4 of which 2 at most share memory, as ..._near2,
# except tests that take long or send little. A source that says "Run on N processes." runs on as
# many only. Over each MPI but the first, long tests of layers above the transport run on 2 and on
# 4/2, which between them have all ways of a message.
function(shoal_add_mpi_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TIMEOUT" "PROCESSES")
  if(NOT SHOAL_MPI_VARIANTS)
    return()
  endif()
  set(folder "${PROJECT_SOURCE_DIR}/tests/mpi")
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  file(GLOB tests CONFIGURE_DEPENDS "${folder}/*_test.cpp")
  set(uses_mpi "${folder}/mpi_launch.cpp")
  foreach(source IN LISTS sources)
    file(STRINGS "${source}" found REGEX "<(shoal/)?mpi.h|/transport_harness.hpp")
    if(found)
      list(APPEND uses_mpi "${source}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES uses_mpi)
  set(uses_none ${sources})
  list(REMOVE_ITEM uses_none ${uses_mpi})
  add_library(mpi_tests OBJECT)
  shoal_test_defaults(mpi_tests shoal_object shoal_runtime)
  shoal_join_sources(mpi_tests "tests$" ${uses_none})
  list(GET SHOAL_MPI_VARIANTS 0 first)
  foreach(variant IN LISTS SHOAL_MPI_VARIANTS)
    shoal_test_program(mpi_${variant}_tests
                       "${PROJECT_SOURCE_DIR}/tests/support/joined_programs_main.cpp"
                       mpi_tests test_programs shoal::shoal_${variant})
    shoal_join_sources(mpi_${variant}_tests "tests$" ${uses_mpi})
    foreach(source IN LISTS tests)
      cmake_path(GET source STEM name)
      set(entries ${arg_PROCESSES})
      file(STRINGS "${source}" own REGEX "^// .*Run on [0-9]+ processes\\.")
      if(own)
        string(REGEX REPLACE ".*Run on ([0-9]+) processes.*" "\\1" entries "${own}")
      elseif(NOT variant STREQUAL first AND name MATCHES "_(world|lifetime|stall)_test$")
        set(entries 2 4/2)
      endif()
      foreach(entry IN LISTS entries)
        string(REGEX MATCH "^([0-9]+)(/([0-9]+))?$" matched "${entry}")
        set(processes ${CMAKE_MATCH_1})
        set(near ${CMAKE_MATCH_3})
        set(test mpi.${variant}.${name}.np${processes})
        if(near)
          if(name MATCHES "_(stall|huge_message|init|launch|single|funneled)_test$")
            continue()
          endif()
          string(APPEND test _near${near})
        endif()
        shoal_mpi_test_program(${name} ${variant} program)
        shoal_add_mpi_test(
          ${test}
          VARIANT ${variant}
          PROCESSES ${processes}
          TIMEOUT ${arg_TIMEOUT}
          COMMAND ${program})
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
  list(GET SHOAL_MPI_VARIANTS 0 variant)
  add_library(mpi_single_files OBJECT EXCLUDE_FROM_ALL ${sources}) # for clang-tidy
  shoal_test_defaults(mpi_single_files shoal::shoal_${variant})
endfunction()
