# Tests of the applications: included by tests/CMakeLists.txt, after cmake/ShoalTesting.cmake.

shoal_add_app_run(calibrate_trees PATTERN "multicast-costs = .[0-9]+ns,[0-9]+ns,[0-9]+ns,[0-9]+ns."
                  COMMAND calibrate net --ranks 4 --workers 1 --repetitions 3)
if(TARGET calibrate AND NOT SHOAL_SANITIZE)
  add_test(NAME bench.sim_validation
           COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/bench/sim_validation"
                   $<TARGET_FILE_DIR:calibrate> --short --rounds 1 --repeat 1)
  shoal_test_properties(bench.sim_validation apps 120 PROCESSORS 2)
endif()

# Results that cannot be written, and messages that cannot.
if(TARGET cholesky AND TARGET shoal-trace)
  set(results "")
  foreach(line IN ITEMS
          "tutorial_hello --info" "tutorial_hello --help" "tutorial_hello --version"
          "tutorial_hello --sim --info" "barnes_hut --bodies 200" "bfs --scale 5"
          "calibrate net --ranks 2 --workers 1 --repetitions 1" "cholesky --n 60 --tile 20"
          "cholesky -h" "components --vertices 200" "contention -h" "ebms --particles 200"
          "flow_cholesky --n 60 --tile 20" "gemm2d --n 60 --tile 20"
          "gemm3d --n 60 --tile 20 --ranks 8" "gups --log-size 8" "hub_bfs --vertices 100"
          "insitu --timesteps 2 --size 10" "jacobi --n 10" "kmeans --points 200"
          "least_squares --n 60 --tile 20" "lu --n 60 --tile 20" "min_element --step 50 --count 2"
          "nas_cg --class S" "qr --n 60 --tile 20" "saxpy --n 100" "sparse_solve --grid 5")
    string(REGEX MATCH "^[a-z_0-9]+" app "${line}")
    if(TARGET ${app})
      string(REPLACE "${app} " "$<TARGET_FILE:${app}> " command "${line}")
      list(APPEND results "${command} --workers 1")
    endif()
  endforeach()
  list(TRANSFORM results REPLACE "(-h|--help|--version|net .*) --workers 1$" "\\1")
  add_test(NAME apps.lost_output
           COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/apps/lost_output_test.py"
                   --results ${results} --messages "$<TARGET_FILE:tutorial_hello> --ranks x"
                   "$<TARGET_FILE:cholesky> --foo"
                   "$<TARGET_FILE:cholesky> --n 60 --tile 20 --sim --sim-log 20"
                   "$<TARGET_FILE:c_event_calls> mine --sim --sim-log 9"
                   "$<TARGET_FILE:c_event_failures> task --ranks 3"
                   "$<TARGET_FILE:edat_refusals> before_init"
                   "$<TARGET_FILE:shoal-trace> check /nonexistent")
  shoal_test_properties(apps.lost_output apps 240 PROCESSORS 2)
endif()

include("${CMAKE_CURRENT_LIST_DIR}/contention/tests.cmake")

if(NOT SHOAL_SANITIZE)
  set(programs "")
  foreach(program IN ITEMS barnes_hut bfs cholesky ebms flow_broadcast flow_cholesky gemm2d gemm3d
                           insitu jacobi kmeans least_squares lu nas_cg qr sparse_solve)
    if(TARGET ${program})
      list(APPEND programs $<TARGET_FILE:${program}>)
    endif()
  endforeach()
  add_test(NAME apps.dash COMMAND Python3::Interpreter
                                  "${PROJECT_SOURCE_DIR}/tests/apps/dash_test.py" ${programs})
  shoal_test_properties(apps.dash apps 60 PROCESSORS 2)
endif()

if(TARGET cholesky AND NOT SHOAL_SANITIZE)
  add_test(NAME apps.demo
           COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/apps/demo_test.py"
                   $<TARGET_FILE:cholesky>)
  shoal_test_properties(apps.demo apps 60 PROCESSORS 2 SKIP_RETURN_CODE 77)
endif()
