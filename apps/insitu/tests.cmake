# Tests of insitu and of what it is compared with, bench/insitu: included by apps/tests.cmake.

set(insitu_report "per second\n +latency +[0-9.e+]+ us[^\n]*\n +results +good")

if(TARGET insitu)
  shoal_add_app_test(
    insitu
    APP insitu
    TIMEOUT 120
    PATTERN "items +[0-9]+ in [^\n]* ${insitu_report}"
    LABEL apps_small
    ARGS --timesteps 10)
  foreach(ranks_and_items IN ITEMS "1 40" "2 40" "3 40" "6 120")
    separate_arguments(ranks_and_items)
    list(GET ranks_and_items 0 ranks)
    list(GET ranks_and_items 1 items)
    shoal_add_app_run(
      insitu_ranks${ranks}
      PATTERN "items +${items} in [^\n]* ${insitu_report}"
      LABEL apps_small
      COMMAND insitu --ranks ${ranks} --workers 2 --timesteps 5 --size 100)
  endforeach()
  shoal_add_app_script(insitu_files tests/apps/insitu_files_test.py insitu)
  shoal_add_app_run(insitu_sim COMMAND insitu --sim-check --ranks 16 --timesteps 3 --size 10)
  set(command "$<TARGET_FILE:insitu> --sim --ranks 6 --workers 2 --timesteps 3 --size 10")
  add_test(NAME apps.insitu_sim_twice
           COMMAND "${CMAKE_COMMAND}" "-DPATTERN=items +72 in [^\n]* ${insitu_report}"
                   "-DCOMMANDS=${command}|${command}" -P
                   "${PROJECT_SOURCE_DIR}/tests/apps/compare_lines.cmake")
  shoal_test_properties(apps.insitu_sim_twice apps 60 PROCESSORS 2)
endif()

if(TARGET insitu_mpi)
  shoal_add_mpi_test(
    bench.insitu_mpi.np4
    MPI openmpi
    PROCESSES 4
    TIMEOUT 60
    PATTERN "items 48 in .* results good"
    COMMAND $<TARGET_FILE:insitu_mpi> --timesteps 3 --size 50)
  shoal_mpi_launcher(openmpi 3 launcher)
  add_test(NAME bench.insitu_mpi.np3
           COMMAND "${CMAKE_COMMAND}" "-DCOMMAND=${launcher};$<TARGET_FILE:insitu_mpi>" -DCODE=2
                   "-DPATTERN=insitu_mpi: start an even number of processes" -DTIMES=1 -P
                   "${PROJECT_SOURCE_DIR}/apps/expect_error.cmake")
  # The script starts both with the mpirun that is the default one.
  find_program(SHOAL_MPIRUN_DEFAULT mpirun)
  list(GET SHOAL_MPI_PLUGINS 0 mpi)
  set(tests bench.insitu_mpi.np3)
  if(mpi STREQUAL "openmpi" AND SHOAL_MPIRUN_DEFAULT)
    add_test(NAME bench.insitu
             COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/bench/insitu/run"
                     "${PROJECT_BINARY_DIR}" --rounds 1 --timesteps 2)
    list(APPEND tests bench.insitu)
  endif()
  foreach(test IN LISTS tests)
    shoal_test_properties(${test} mpi 60 PROCESSORS 2)
    set_tests_properties(${test} PROPERTIES ENVIRONMENT "${SHOAL_MPI_ENVIRONMENT}")
  endforeach()
endif()
