# Functions that turn the programs of tests/edat into tests.

# Every tests/edat/listings/*.c is a program with edat.h, whose source says on how many processes it
# runs, with which variables, and what it prints: without a launcher on one, and on the others with
# each MPI.
function(shoal_add_edat_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TIMEOUT" "")
  set(folder "${PROJECT_SOURCE_DIR}/tests/edat")
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/listings/*.c")
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    file(STRINGS "${source}" line REGEX "^// processes: " LIMIT_COUNT 1)
    string(REGEX MATCHALL "[0-9]+" counts "${line}")
    file(STRINGS "${source}" line REGEX "^// environment: " LIMIT_COUNT 1)
    string(REGEX MATCHALL "[A-Z_]+=[^ ]+" environment "${line}")
    set(program edat_${name})
    shoal_c_test_program(${program} "${source}" edat)
    # As in the paper, functions do not use all of their arguments.
    target_compile_options(${program} PRIVATE -Wno-unused-parameter -Wno-strict-prototypes)
    foreach(mpi IN ITEMS none ${SHOAL_MPI_PLUGINS})
      foreach(processes IN LISTS counts)
        if(mpi STREQUAL "none" AND processes GREATER 1)
          continue()
        elseif(processes EQUAL 1 AND NOT mpi STREQUAL "none")
          continue() # the same as without MPI
        endif()
        set(launcher ${SHOAL_TEST_LAUNCHER})
        set(label edat)
        if(NOT mpi STREQUAL "none")
          shoal_mpi_launcher(${mpi} ${processes} launcher)
          set(label mpi)
        endif()
        shoal_add_output_test(
          edat.${name}.${mpi}.np${processes}
          LABEL ${label}
          SOURCE "${source}"
          PROCESSES ${processes}
          TIMEOUT ${arg_TIMEOUT}
          COMMAND ${launcher} $<TARGET_FILE:${program}>)
        set_property(
          TEST edat.${name}.${mpi}.np${processes}
          APPEND
          PROPERTY ENVIRONMENT ${environment})
      endforeach()
    endforeach()
  endforeach()
  shoal_c_test_program(edat_refusals "${folder}/refusals.c" edat)
  shoal_add_edat_fortran_test(${arg_TIMEOUT})
  foreach(mpi IN LISTS SHOAL_MPI_PLUGINS)
    shoal_c_test_program(edat_${mpi}_with_mpi "${folder}/with_mpi.c" edat)
    target_link_libraries(edat_${mpi}_with_mpi PRIVATE ${SHOAL_MPI_${mpi}_TARGET})
    foreach(processes IN ITEMS 2 4)
      shoal_mpi_launcher(${mpi} ${processes} launcher)
      shoal_add_output_test(
        edat.with_mpi.${mpi}.np${processes}
        LABEL mpi
        SOURCE "${folder}/with_mpi.c"
        PROCESSES ${processes}
        TIMEOUT ${arg_TIMEOUT}
        COMMAND ${launcher} $<TARGET_FILE:edat_${mpi}_with_mpi>)
    endforeach()
  endforeach()

  # Most of what they test, the compiler does.
  shoal_c_test_program(edat_interface "${folder}/interface.c" edat)
  target_compile_options(edat_interface PRIVATE -Werror)
  shoal_c_test_program(edat_interface_cxx "${folder}/interface.cpp" edat)
  foreach(test IN ITEMS interface interface_cxx)
    add_test(NAME edat.${test} COMMAND ${SHOAL_TEST_LAUNCHER} $<TARGET_FILE:edat_${test}>)
    shoal_test_properties(edat.${test} edat ${arg_TIMEOUT})
  endforeach()
endfunction()

# A program of tests/edat/fortran with a module that calls the library as EDAT's own does.
function(shoal_add_edat_fortran_test timeout)
  if(NOT SHOAL_HAS_FORTRAN)
    return()
  endif()
  set(folder "${PROJECT_SOURCE_DIR}/tests/edat/fortran")
  shoal_c_test_program(edat_fortran "${folder}/calls.f90" edat)
  target_sources(edat_fortran PRIVATE "${folder}/edat.f90")
  target_compile_options(edat_fortran PRIVATE -std=f2018 -Wno-unused-dummy-argument)
  set_target_properties(edat_fortran PROPERTIES Fortran_MODULE_DIRECTORY
                                                "${CMAKE_CURRENT_BINARY_DIR}/edat_fortran.mod")
  foreach(mpi IN ITEMS none ${SHOAL_MPI_PLUGINS})
    foreach(processes IN ITEMS 1 2 4)
      set(launcher ${SHOAL_TEST_LAUNCHER})
      set(label edat)
      if(NOT mpi STREQUAL "none")
        shoal_mpi_launcher(${mpi} ${processes} launcher)
        set(label mpi)
      elseif(processes GREATER 1)
        continue()
      endif()
      shoal_add_output_test(
        edat.fortran.${mpi}.np${processes}
        LABEL ${label}
        SOURCE "${folder}/calls.f90"
        PROCESSES ${processes}
        TIMEOUT ${timeout}
        COMMAND ${launcher} $<TARGET_FILE:edat_fortran>)
    endforeach()
  endforeach()
endfunction()

# shoal_add_edat_refusal(<case> <regex>): tests/edat/refusals.c is ended with that text.
function(shoal_add_edat_refusal case pattern)
  set(program $<TARGET_FILE:edat_refusals>)
  add_test(NAME edat.refuses.${case}
           COMMAND "${CMAKE_COMMAND}" "-DCOMMAND=${SHOAL_TEST_LAUNCHER};${program};${case}"
                   "-DPATTERN=${pattern}" -DTIMES=1 -P
                   "${PROJECT_SOURCE_DIR}/apps/expect_error.cmake")
  # In EDAT's words.
  shoal_test_properties(edat.refuses.${case} edat 60 FAIL_REGULAR_EXPRESSION
                        "raw type|shoal::|[.][ch]pp:|not refused")
endfunction()
