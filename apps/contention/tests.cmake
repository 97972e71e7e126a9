# Tests of contention: included by apps/tests.cmake.

if(TARGET contention)
  set_tests_properties(
    unit.apps_contention_files_test
    PROPERTIES ENVIRONMENT
               "SHOAL_CONTENTION_MACHINES=${PROJECT_SOURCE_DIR}/apps/contention/machines")
  shoal_add_app_script(contention_files tests/apps/contention_files_test.py contention)
endif()
if(TARGET overlap)
  shoal_add_app_script(overlap tests/apps/overlap_test.py overlap)
  shoal_add_app_mpi_test(
    overlap
    APP overlap
    TIMEOUT 120
    PATTERN "; verified"
    PROCESSES 2
    ARGS --tasks 40 --task-mb 5 --messages 20 --message-mb 2 --workers 2 --memory-bound-max 1
         --buffer-node 0)
endif()
if(TARGET contention AND NOT SHOAL_SANITIZE)
  shoal_add_app_script(contention_measure tests/apps/contention_measure_test.py contention)
  # Its own counters.cpp comes before that of the library, an object of its own.
  set(folder "${PROJECT_SOURCE_DIR}/apps/contention")
  set_source_files_properties("${folder}/papi/counters.cpp" TARGET_DIRECTORY contention
                              PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  add_executable(contention_without_papi "${folder}/mpi_none/mpi_link.cpp"
                                         "${folder}/papi_none/counters.cpp")
  shoal_app_defaults(contention_without_papi)
  target_link_libraries(contention_without_papi PRIVATE shoal_app_contention_main shoal::shoal)
  shoal_add_app_script(contention_without_papi tests/apps/contention_without_papi_test.py
                       contention_without_papi)
  shoal_add_app_mpi_test(
    contention_measure
    APP contention
    TIMEOUT 120
    PATTERN "triad,512,1?[0-9]*,0,mpi,receive,65536,"
    PROCESSES 2
    ARGS measure --quick --repetitions 1 --duration 1 --memory 1 --message-bytes 65536 -o -)
endif()
