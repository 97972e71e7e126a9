# Tests of the applications of global memory: each verifies its result.

shoal_add_app_test(gups APP gups TIMEOUT 60 LABEL apps_small PATTERN "verified" ARGS --log-size 12)
shoal_add_app_test(gups_gather APP gups TIMEOUT 60 PATTERN "verified" ARGS --log-size 12 --gather)
shoal_add_app_run(gups_simulated PATTERN "verified" COMMAND gups --sim --ranks 16 --log-size 10)
shoal_add_app_test(sparse_solve APP sparse_solve TIMEOUT 60 LABEL apps_small PATTERN "verified"
                   ARGS --grid 20)
if(EXISTS "${SHOAL_DATA_DIR}/bcsstk13.mtx")
  shoal_add_app_test(sparse_solve_bcsstk13 APP sparse_solve TIMEOUT 60 PATTERN "verified" RANKS 3
                     PROCESSES 4 ARGS "${SHOAL_DATA_DIR}/bcsstk13.mtx")
endif()
# Unsymmetric with an empty diagonal, a symmetric and an unsymmetric pattern.
if(EXISTS "${SHOAL_DATA_DIR}/west0067.mtx")
  shoal_add_app_test(sparse_solve_west0067 APP sparse_solve TIMEOUT 60 PATTERN "ILU.*verified"
                     RANKS 3 PROCESSES 2 ARGS "${SHOAL_DATA_DIR}/west0067.mtx" --block 2)
endif()
if(EXISTS "${SHOAL_DATA_DIR}/jagmesh7.mtx")
  shoal_add_app_run(sparse_solve_jagmesh7 PATTERN "1138 rows, IC.*verified" COMMAND sparse_solve
                    --ranks 3 "${SHOAL_DATA_DIR}/jagmesh7.mtx")
endif()
shoal_add_app_run(sparse_solve_pattern PATTERN "4 rows, ILU.*shift 0,.*verified" COMMAND
                  sparse_solve --ranks 2 --block 1 "${small_data}/general_pattern.mtx")
shoal_add_app_run(sparse_solve_simulated PATTERN "verified" COMMAND sparse_solve --sim --ranks 8
                                                                    --grid 12 --levels 2)
shoal_add_app_test(barnes_hut APP barnes_hut TIMEOUT 120 LABEL apps_small PATTERN "verified"
                   ARGS --bodies 1000)
shoal_add_app_test(barnes_hut_small_cache APP barnes_hut TIMEOUT 120 PATTERN "verified" RANKS 3
                   PROCESSES 2 ARGS --bodies 1000 --cache-bytes 20000)
# The plain MPI version has the same trees, so all bodies end at the same places, to the last bit.
if(TARGET barnes_hut
   AND TARGET barnes_hut_mpi_openmpi
   AND NOT SHOAL_SANITIZE
   AND NOT SHOAL_COVERAGE)
  set(arguments "--bodies 700 --checksum")
  shoal_mpi_launcher(openmpi 3 launcher)
  list(JOIN launcher " " launcher)
  set(commands "$<TARGET_FILE:barnes_hut> ${arguments} --ranks 3"
               "${launcher} $<TARGET_FILE:barnes_hut_mpi_openmpi> ${arguments}")
  list(JOIN commands "|" commands)
  add_test(NAME apps.barnes_hut_as_mpi
           COMMAND "${CMAKE_COMMAND}" "-DPATTERN=checksum +[0-9a-f]+" "-DCOMMANDS=${commands}" -P
                   "${PROJECT_SOURCE_DIR}/tests/apps/compare_lines.cmake")
  shoal_test_properties(apps.barnes_hut_as_mpi apps 120 PROCESSORS 2)
  set_tests_properties(apps.barnes_hut_as_mpi PROPERTIES ENVIRONMENT "${SHOAL_MPI_ENVIRONMENT}")
endif()
shoal_add_app_run(barnes_hut_simulated PATTERN "verified" COMMAND barnes_hut --sim --ranks 8
                                                                  --bodies 500)
shoal_add_app_test(ebms APP ebms TIMEOUT 60 LABEL apps_small PATTERN "verified" ARGS --particles
                   2000)
shoal_add_app_test(ebms_prefetch APP ebms TIMEOUT 60 PATTERN "verified" RANKS 3 PROCESSES 2
                   ARGS --particles 2000 --prefetch)
shoal_add_app_run(ebms_simulated PATTERN "verified" COMMAND ebms --sim --ranks 16 --particles 1000)
