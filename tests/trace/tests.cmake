# Recorded runs of the applications: included by tests/CMakeLists.txt.

if(NOT TARGET cholesky OR NOT TARGET bfs)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(check_runs Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/check_runs")
set(programs --tool $<TARGET_FILE:shoal-trace> --cholesky $<TARGET_FILE:cholesky> --bfs
             $<TARGET_FILE:bfs>)
if(SHOAL_MPI_VARIANTS)
  list(GET SHOAL_MPI_VARIANTS 0 variant)
  shoal_mpi_launcher(${variant} 4 launcher)
  list(JOIN launcher " " launcher)
  # `check_runs causes` measures real time: it is for a machine that does nothing else.
  foreach(what IN ITEMS processes skewed)
    add_test(NAME trace.${what} COMMAND ${check_runs} ${what} ${programs} --launcher "${launcher}")
    shoal_test_properties(trace.${what} apps 240 PROCESSORS 2)
  endforeach()
endif()
foreach(what IN ITEMS planted killed)
  add_test(NAME trace.${what} COMMAND ${check_runs} ${what} ${programs})
  shoal_test_properties(trace.${what} apps 120 PROCESSORS 2)
endforeach()
