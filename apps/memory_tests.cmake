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
shoal_add_app_run(sparse_solve_simulated PATTERN "verified" COMMAND sparse_solve --sim --ranks 8
                                                                    --grid 12)
shoal_add_error_test(sparse_solve_no_file PATTERN "/nonexistent.mtx" COMMAND sparse_solve
                     /nonexistent.mtx --ranks 2)
shoal_add_app_test(barnes_hut APP barnes_hut TIMEOUT 120 LABEL apps_small PATTERN "verified"
                   ARGS --bodies 1000)
shoal_add_app_test(barnes_hut_small_cache APP barnes_hut TIMEOUT 120 PATTERN "verified" RANKS 3
                   PROCESSES 2 ARGS --bodies 1000 --cache-bytes 20000)
shoal_add_app_run(barnes_hut_simulated PATTERN "verified" COMMAND barnes_hut --sim --ranks 8
                                                                  --bodies 500)
shoal_add_app_test(ebms APP ebms TIMEOUT 60 LABEL apps_small PATTERN "verified" ARGS --particles
                   2000)
shoal_add_error_test(ebms_no_particles PATTERN "--particles" COMMAND ebms --particles -1)
shoal_add_error_test(gups_no_updates PATTERN "--updates" COMMAND gups --updates 0)
shoal_add_app_test(ebms_prefetch APP ebms TIMEOUT 60 PATTERN "verified" RANKS 3 PROCESSES 2
                   ARGS --particles 2000 --prefetch)
shoal_add_app_run(ebms_simulated PATTERN "verified" COMMAND ebms --sim --ranks 16 --particles 1000)
