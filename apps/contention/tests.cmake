# Tests of contention: included by apps/tests.cmake.

if(TARGET contention)
  set_tests_properties(
    unit.apps_contention_files_test
    PROPERTIES ENVIRONMENT
               "SHOAL_CONTENTION_MACHINES=${PROJECT_SOURCE_DIR}/apps/contention/machines")
  shoal_add_app_script(contention_files tests/apps/contention_files_test.py contention)
endif()
