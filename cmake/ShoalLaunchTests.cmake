# Tests of the plug-ins for MPI.

# One binary for every MPI: tests/plugin.
function(shoal_add_plugin_tests)
  if(NOT SHOAL_MPI_PLUGINS OR NOT TARGET tutorial_hello)
    return()
  endif()
  shoal_test_program(mpi_bare_hello "${PROJECT_SOURCE_DIR}/apps/tutorial/hello.cpp" shoal_object
                     shoal_runtime)
  add_library(mpi_other_version MODULE "${PROJECT_SOURCE_DIR}/tests/plugin/other_version.cpp")
  target_include_directories(mpi_other_version PRIVATE "${PROJECT_SOURCE_DIR}/src")
  list(GET SHOAL_MPI_PLUGINS 0 first)
  # As with SHOAL_MPI_STATIC: its definition of linked_mpi() comes before that of the library.
  shoal_test_program(mpi_static_hello "${PROJECT_SOURCE_DIR}/apps/tutorial/hello.cpp" shoal_object
                     shoal_runtime)
  target_sources(mpi_static_hello PRIVATE "${PROJECT_SOURCE_DIR}/src/net/mpi_linked/linked.cpp"
                                          "${PROJECT_SOURCE_DIR}/src/net/mpi_plugin/mpi_plugin.cpp")
  shoal_mpi_plugin_definitions(mpi_static_hello ${first})
  set(options --static $<TARGET_FILE:mpi_static_hello> --program $<TARGET_FILE:tutorial_hello>
              --bare $<TARGET_FILE:mpi_bare_hello> --plugins
              $<TARGET_FILE_DIR:shoal_mpi_${first}> --other $<TARGET_FILE:mpi_other_version>
              --library $<TARGET_FILE:shoal_c> --c-host $<TARGET_FILE:c_load_library>)
  foreach(mpi IN LISTS SHOAL_MPI_PLUGINS)
    shoal_mpi_launcher(${mpi} "" launcher)
    list(JOIN launcher " " launcher)
    list(APPEND options --launcher "${mpi}=${launcher}")
  endforeach()
  add_test(NAME mpi.plugins COMMAND Python3::Interpreter
                                    "${PROJECT_SOURCE_DIR}/tests/plugin/plugin_test.py" ${options})
  shoal_test_properties(mpi.plugins mpi 240 PROCESSORS 2)
  add_test(
    NAME mpi.wheels
    COMMAND
      Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/plugin/wheels_test.py" --root
      "${PROJECT_SOURCE_DIR}" --program $<TARGET_FILE:tutorial_hello> --tests
      $<TARGET_FILE:mpi_tests> --scratch "${CMAKE_CURRENT_BINARY_DIR}/wheels" --cxx
      "${CMAKE_CXX_COMPILER}")
  shoal_test_properties(mpi.wheels mpi 300 PROCESSORS 2)
  shoal_in_check(mpi TESTS mpi.plugins PROGRAMS tutorial_hello mpi_bare_hello mpi_static_hello
                                                mpi_other_version shoal_c c_load_library)
  set_tests_properties(mpi.plugins PROPERTIES ENVIRONMENT "${SHOAL_MPI_ENVIRONMENT}")
endfunction()
