# edat.py: tests/edat/python/edat_test.py runs programs with it, in one process and over each MPI.

foreach(mpi IN ITEMS none ${SHOAL_MPI_PLUGINS})
  set(launcher "")
  set(label edat)
  if(NOT mpi STREQUAL "none")
    shoal_mpi_launcher(${mpi} "" launcher) # the test adds the number of processes
    set(label mpi)
  endif()
  add_test(NAME edat.python.${mpi}
           COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/edat/python/edat_test.py"
                   "${PROJECT_SOURCE_DIR}/src/python/edat.py" $<TARGET_FILE:shoal_edat>
                   ${launcher})
  shoal_test_properties(edat.python.${mpi} ${label} 180 PROCESSORS 2)
  set_tests_properties(edat.python.${mpi} PROPERTIES ENVIRONMENT "${SHOAL_MPI_ENVIRONMENT}")
endforeach()
