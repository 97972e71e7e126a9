# shoal-top on running programs: included by tests/CMakeLists.txt.

set(check_top Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/check_top")
shoal_test_program(top_steady "${CMAKE_CURRENT_LIST_DIR}/steady.cpp" shoal::shoal)
add_dependencies(top_steady shoal-top)
add_test(NAME top.embedded COMMAND ${check_top} embedded --tool $<TARGET_FILE:shoal-top> --program
                                   $<TARGET_FILE:top_steady>)
shoal_test_properties(top.embedded apps 120)
if(SHOAL_MPI_PLUGINS)
  list(GET SHOAL_MPI_PLUGINS 0 mpi)
  shoal_mpi_launcher(${mpi} 4 launcher)
  list(JOIN launcher " " launcher)
  add_test(NAME top.processes
           COMMAND ${check_top} processes --tool $<TARGET_FILE:shoal-top> --program
                   $<TARGET_FILE:top_steady> --launcher "${launcher}")
  shoal_test_properties(top.processes mpi 120 PROCESSORS 2)
  set_tests_properties(top.processes PROPERTIES ENVIRONMENT "${SHOAL_MPI_ENVIRONMENT}")
endif()
