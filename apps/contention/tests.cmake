# Tests of contention: included by apps/tests.cmake.

if(TARGET contention)
  set_tests_properties(
    unit.apps_contention_files_test
    PROPERTIES ENVIRONMENT
               "SHOAL_CONTENTION_MACHINES=${PROJECT_SOURCE_DIR}/apps/contention/machines")
  shoal_add_app_script(contention_files tests/apps/contention_files_test.py contention)
endif()
if(TARGET contention AND NOT SHOAL_SANITIZE)
  shoal_add_app_script(contention_measure tests/apps/contention_measure_test.py contention)
  set(short --quick --repetitions 1 --duration 1 --memory 1 --message-bytes 65536 -o -)
  foreach(variant IN LISTS SHOAL_MPI_VARIANTS)
    shoal_app_of_variant(contention ${variant} program)
    if(program)
      shoal_add_mpi_test(
        apps.contention_measure.${variant}.np2
        VARIANT ${variant}
        PROCESSES 2
        TIMEOUT 120
        PATTERN "triad,512,1?[0-9]*,0,mpi,receive,65536,"
        COMMAND $<TARGET_FILE:${program}> measure ${short})
    endif()
  endforeach()
endif()
