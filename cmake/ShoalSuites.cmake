# Tests that run programs as users do: the suites of tests/suites, in Python.

if(mpich IN_LIST SHOAL_MPI_PLUGINS)
  add_library(shoal_mpich_yield SHARED "${PROJECT_SOURCE_DIR}/tests/support/mpich_yield.cpp")
  shoal_target_defaults(shoal_mpich_yield)
  target_link_libraries(shoal_mpich_yield PRIVATE ${CMAKE_DL_LIBS})
  add_dependencies(check_programs shoal_mpich_yield) # its launcher preloads it
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

# Sets `out` to a list in JSON.
function(shoal_json_list out)
  list(JOIN ARGN "\", \"" text)
  set(${out} "[]" PARENT_SCOPE)
  if(ARGN)
    set(${out} "[\"${text}\"]" PARENT_SCOPE)
  endif()
endfunction()

# Sets `out` to what a program that was not built for AddressSanitizer preloads, so that it can load
# a library that was: its runtime, and the C++ library whose exceptions that looks at.
function(shoal_sanitizer_runtimes out)
  set(${out} "" PARENT_SCOPE)
  if(NOT SHOAL_SANITIZE MATCHES "address")
    return()
  endif()
  set(names libasan.so)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    set(names libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so)
  endif()
  foreach(name IN LISTS names ITEMS libstdc++.so.6)
    execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=${name}
                    OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(APPEND paths "${path}")
  endforeach()
  set(${out} ${paths} PARENT_SCOPE)
endfunction()

# Facts about this build, for tests/suites/suite.py.
function(shoal_write_suites)
  set(launchers "")
  foreach(mpi IN LISTS SHOAL_MPI_PLUGINS)
    shoal_mpi_launcher(${mpi} "" launcher)
    shoal_json_list(launcher ${launcher})
    list(APPEND launchers "\"${mpi}\": ${launcher}")
  endforeach()
  list(JOIN launchers ", " launchers)
  set(variables "")
  foreach(name IN ITEMS CMAKE_COMMAND CMAKE_CXX_COMPILER CMAKE_C_COMPILER CMAKE_Fortran_COMPILER
                        CMAKE_BUILD_TYPE PROJECT_VERSION SHOAL_TEST_CCACHE SHOAL_COVERAGE
                        SHOAL_PYTHON_PROGRAM)
    list(APPEND variables "\"${name}\": \"${${name}}\"")
  endforeach()
  list(JOIN variables ", " variables)
  set(targets "")
  get_property(folders DIRECTORY "${PROJECT_SOURCE_DIR}" PROPERTY SUBDIRECTORIES)
  foreach(folder IN LISTS folders)
    get_property(groups DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
    foreach(group IN LISTS groups ITEMS "${folder}")
      get_property(some DIRECTORY "${group}" PROPERTY BUILDSYSTEM_TARGETS)
      list(APPEND targets ${some})
    endforeach()
  endforeach()
  shoal_json_list(targets ${targets})
  shoal_json_list(tutorials ${SHOAL_TESTED_TUTORIALS})
  shoal_json_list(mpis ${SHOAL_MPI_PLUGINS})
  shoal_sanitizer_runtimes(preload)
  shoal_json_list(preload ${preload})
  shoal_json_list(environment ${SHOAL_MPI_ENVIRONMENT})
  shoal_json_list(prefix ${SHOAL_TEST_LAUNCHER})
  set(includes $<TARGET_PROPERTY:shoal_shoal,INTERFACE_INCLUDE_DIRECTORIES>)
  file(GENERATE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/suites.json" CONTENT "{
\"source\": \"${PROJECT_SOURCE_DIR}\", \"data\": \"${SHOAL_DATA_DIR}\",
\"mpis\": ${mpis}, \"launchers\": {${launchers}}, \"mpi_environment\": ${environment},
\"prefix\": ${prefix}, \"preload\": ${preload}, \"sanitize\": \"${SHOAL_SANITIZE}\",
\"timeout_scale\": ${SHOAL_TEST_TIMEOUT_SCALE},
\"variables\": {${variables}},
\"includes\": \"$<JOIN:$<REMOVE_DUPLICATES:${includes}>, >\",
\"targets\": ${targets}, \"tutorials\": ${tutorials}
}
")
endfunction()
cmake_language(DEFER CALL shoal_write_suites)

# shoal_add_suites(<kind> [TIMEOUT <s>] [PROGRAMS <target>...] SUITES <name>...)
# The ctest tests <kind>.<name>, of tests/suites/<kind>_<name>.py. PROGRAMS: programs that they run
# and that this preset would not build else. Under sanitizers, those that `make check` does not run
# there start nothing over MPI.
function(shoal_add_suites kind)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "PROGRAMS;SUITES")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  set(options "")
  if(SHOAL_SANITIZE AND NOT kind IN_LIST SHOAL_CHECK_KINDS)
    set(options --without-mpi)
  endif()
  set(programs "")
  foreach(program IN LISTS arg_PROGRAMS)
    if(TARGET ${program})
      list(APPEND programs ${program})
      set_target_properties(${program} PROPERTIES EXCLUDE_FROM_ALL OFF)
    endif()
  endforeach()
  foreach(name IN LISTS arg_SUITES)
    add_test(NAME ${kind}.${name}
             COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/suites/${kind}_${name}.py"
                     --build "${PROJECT_BINARY_DIR}" ${options})
    # Launches over MPI mostly wait: one after the other, beside tests that compute. So do suites of
    # `make check`, which would else begin last, when two processors are free at once.
    set(processors 2)
    if(kind STREQUAL "mpi" OR kind IN_LIST SHOAL_CHECK_KINDS)
      set(processors 1)
    endif()
    shoal_test_properties(${kind}.${name} ${kind} ${arg_TIMEOUT} PROCESSORS ${processors}
                          SKIP_RETURN_CODE 77)
    shoal_in_check(${kind} TESTS ${kind}.${name} PROGRAMS ${programs})
  endforeach()
endfunction()
