# Recorded runs of the applications: included by tests/CMakeLists.txt.

if(NOT TARGET cholesky OR NOT TARGET bfs)
  return()
endif()
set(check_runs Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/check_runs")
set(programs --tool $<TARGET_FILE:shoal-trace> --cholesky $<TARGET_FILE:cholesky> --bfs
             $<TARGET_FILE:bfs>)
if(SHOAL_HAS_FORTRAN AND NOT SHOAL_SANITIZE)
  shoal_c_test_program(trace_region "${CMAKE_CURRENT_LIST_DIR}/region.f90" fortran)
  set_target_properties(
    trace_region PROPERTIES Fortran_MODULE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/trace_region.mod")
  add_test(NAME trace.region COMMAND ${check_runs} region ${programs} --region
                                     $<TARGET_FILE:trace_region>)
  shoal_test_properties(trace.region apps 60)
endif()
if(SHOAL_MPI_PLUGINS)
  list(GET SHOAL_MPI_PLUGINS 0 mpi)
  shoal_mpi_launcher(${mpi} 4 launcher)
  list(JOIN launcher " " launcher)
  # `check_runs causes` measures real time: it is for a machine that does nothing else.
  shoal_test_program(mpi_trace_causes "${CMAKE_CURRENT_LIST_DIR}/causes.cpp"
                     shoal::shoal)
  list(APPEND programs --causes $<TARGET_FILE:mpi_trace_causes>)
  foreach(what IN ITEMS processes skewed real)
    add_test(NAME trace.${what} COMMAND ${check_runs} ${what} ${programs} --launcher "${launcher}")
    shoal_test_properties(trace.${what} apps 240 PROCESSORS 2)
  endforeach()
  if(NOT SHOAL_SANITIZE)
    add_test(NAME trace.readers
             COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/check_readers" --tool
                     $<TARGET_FILE:shoal-trace> --cholesky $<TARGET_FILE:cholesky> --launcher
                     "${launcher}" --perfetto "${PROJECT_SOURCE_DIR}/tools/perfetto")
    shoal_test_properties(trace.readers apps 240 PROCESSORS 2 SKIP_RETURN_CODE 77)
  endif()
endif()
foreach(what IN ITEMS planted killed)
  add_test(NAME trace.${what} COMMAND ${check_runs} ${what} ${programs})
  shoal_test_properties(trace.${what} apps 120 PROCESSORS 2)
endforeach()
