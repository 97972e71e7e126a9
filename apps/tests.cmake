# Tests of the applications: included by tests/CMakeLists.txt, after cmake/ShoalTesting.cmake.

set(small_data "${PROJECT_SOURCE_DIR}/tests/unit/data")

# shoal_add_error_test(<name> PATTERN <regex> [TIMES <n>] COMMAND <target> [<argument>...])
# The program must fail in an orderly way and say so once (TIMES).
function(shoal_add_error_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PATTERN;TIMES" "COMMAND")
  list(POP_FRONT arg_COMMAND app)
  if(NOT TARGET ${app})
    return()
  endif()
  if(NOT arg_TIMES)
    set(arg_TIMES 1)
  endif()
  add_test(NAME apps.error.${name}
           COMMAND "${CMAKE_COMMAND}" "-DCOMMAND=$<TARGET_FILE:${app}>;${arg_COMMAND}"
                   "-DPATTERN=${arg_PATTERN}" -DTIMES=${arg_TIMES} -P
                   "${PROJECT_SOURCE_DIR}/apps/expect_error.cmake")
  shoal_test_properties(apps.error.${name} apps 60)
endfunction()

# A file that is not as it should be: the message names the file and the line.
function(shoal_add_bad_file_test file line pattern)
  shoal_add_error_test(
    ${file}
    PATTERN "data/${file}.mtx:${line}: ${pattern}"
    COMMAND cholesky --matrix "${small_data}/${file}.mtx" --ranks 3)
endfunction()

shoal_add_bad_file_test(empty 1 "the file is empty")
shoal_add_bad_file_test(bad_banner 1 "the first line must begin with %%MatrixMarket")
shoal_add_bad_file_test(pattern 1 "field 'pattern' is not supported")
shoal_add_bad_file_test(not_square 4 "the matrix is 2 x 3: it must be square")
shoal_add_bad_file_test(index_out_of_range 4 "row index 3 is out of range 1..2")
shoal_add_bad_file_test(upper_entry 4 "entry .1, 2. lies above the diagonal")
shoal_add_bad_file_test(not_a_number 4 "value is not a number: 'four'")
shoal_add_bad_file_test(truncated 4 "the file ends after 2 of 4 entries")
shoal_add_bad_file_test(trailing 6 "data after the last of the 2 entries")
shoal_add_bad_file_test(not_symmetric 4 "entry .2, 1. is 1 but .1, 2. is 1.5")
shoal_add_error_test(no_file PATTERN "/nonexistent.mtx: cannot open this file"
                     COMMAND cholesky --matrix /nonexistent.mtx --ranks 2)

foreach(ranks IN ITEMS 1 4)
  shoal_add_error_test(
    indefinite.ranks${ranks}
    PATTERN "not positive definite: tile .1, 1., pivot 2 .row 4 of the matrix."
    COMMAND cholesky --matrix "${small_data}/indefinite.mtx" --tile 2 --ranks ${ranks})
endforeach()
shoal_add_error_test(unknown_option PATTERN "cholesky: .*--foo" COMMAND cholesky --foo --ranks 2)
shoal_add_error_test(bad_tile PATTERN "cholesky: --tile: " COMMAND cholesky --tile 0 --ranks 2)
shoal_add_error_test(bad_grid PATTERN "--grid 2x3: that makes 6 ranks, but the world has 4"
                     COMMAND cholesky --grid 2x3 --ranks 4)
shoal_add_error_test(no_cube PATTERN "must be a cube .1, 8, 27, 64, ..... not 9: start 8 or 27"
                     COMMAND gemm3d --ranks 9)
shoal_add_error_test(too_few_tiles PATTERN "1 tiles in a row are too few for 2 ranks"
                     COMMAND gemm3d --n 8 --tile 8 --ranks 8)

shoal_add_app_run(cholesky_array_file COMMAND cholesky --matrix "${small_data}/good_array.mtx")
shoal_add_app_run(cholesky_more_ranks_than_tiles COMMAND cholesky --n 10 --tile 4 --ranks 9)
shoal_add_app_run(cholesky_repeat COMMAND cholesky --n 200 --tile 32 --ranks 3 --repeat 3
                                          --compare-lapack --grid 3x1)
foreach(mode IN ITEMS tiled blas)
  shoal_add_app_run(gemm2d.${mode} COMMAND gemm2d --n 300 --tile 32 --repeat 2 --mode ${mode}
                                           --ranks 6)
  foreach(am IN ITEMS small large)
    shoal_add_app_run(gemm3d.${am}.${mode} COMMAND gemm3d --n 300 --tile 32 --repeat 2 --am ${am}
                                                   --mode ${mode} --ranks 8)
  endforeach()
endforeach()

# Between simulated processes tiles travel in small or in large messages, in orders that seeds
# choose; the last tile of a row may be small beside large ones.
foreach(seed RANGE 1 4)
  foreach(run IN ITEMS "cholesky --tile 20" "cholesky --tile 50" "gemm2d --tile 20"
                       "gemm2d --tile 50" "gemm2d --tile 50 --mode blas")
    string(REPLACE " " ";" run "${run}")
    string(REGEX REPLACE "[- ;]+" "_" name "${run}")
    shoal_add_app_run(${name}.seed${seed} COMMAND ${run} --n 220 --repeat 2 --sim --sim-seed
                                                  ${seed} --ranks 6 --workers 2)
  endforeach()
endforeach()
shoal_add_app_run(gemm3d.ranks1 COMMAND gemm3d --n 200 --tile 64)
shoal_add_app_run(gemm3d.ranks27 COMMAND gemm3d --n 200 --tile 30 --ranks 27 --workers 1)

# The bits of the factor depend on the tiles only: not on ranks, workers, grid or how tiles travel:
# some of these are large inputs, the others small ones.
if(TARGET cholesky)
  set(commands "")
  foreach(run IN ITEMS "--ranks 1 --workers 1" "--ranks 4 --workers 2"
                       "--ranks 4 --workers 1 --sim" "--ranks 6 --grid 6x1 --sim")
    list(APPEND commands
         "$<TARGET_FILE:cholesky> --n 400 --tile 45 --random-blocks 1.5 --checksum ${run}")
  endforeach()
  list(JOIN commands "|" commands)
  add_test(NAME apps.cholesky_same_bits_small_and_large
           COMMAND "${CMAKE_COMMAND}" "-DPATTERN=checksum +[0-9a-f]+" "-DCOMMANDS=${commands}" -P
                   "${PROJECT_SOURCE_DIR}/tests/apps/compare_lines.cmake")
  shoal_test_properties(apps.cholesky_same_bits_small_and_large apps 120)
endif()

# Matrices of real structures, badly scaled.
foreach(matrix IN ITEMS bcsstk13 bcsstk16)
  if(EXISTS "${SHOAL_DATA_DIR}/${matrix}.mtx")
    shoal_add_app_test(
      ${matrix}
      APP cholesky
      TIMEOUT 240
      ARGS --matrix "${SHOAL_DATA_DIR}/${matrix}.mtx" --tile 128)
  endif()
endforeach()

# Simulated runs: work that is only pretended takes as long as work that is done.
foreach(run IN ITEMS "cholesky --n 300 --tile 50 --ranks 6" "gemm2d --n 300 --tile 50 --ranks 4"
                     "gemm3d --n 300 --tile 50 --ranks 8")
  separate_arguments(words UNIX_COMMAND "${run}")
  list(POP_FRONT words app)
  if(TARGET ${app})
    list(JOIN words " " arguments)
    set(command "$<TARGET_FILE:${app}> ${arguments} --workers 2 --no-verify")
    add_test(NAME apps.${app}_dry_takes_the_same_time
             COMMAND "${CMAKE_COMMAND}" "-DPATTERN=shoal +[0-9.e-]+ s.*critical path +[0-9.e-]+ s"
                     "-DCOMMANDS=${command} --sim|${command} --sim-dry" -P
                     "${PROJECT_SOURCE_DIR}/tests/apps/compare_lines.cmake")
    shoal_test_properties(apps.${app}_dry_takes_the_same_time apps 120)
  endif()
endforeach()
shoal_add_app_run(cholesky_dry_1024_ranks COMMAND cholesky --sim-dry --ranks 1024 --workers 1
                                                  --n 16384 --tile 512)
shoal_add_error_test(no_rates PATTERN "/nonexistent: cannot open this file of kernel rates"
                     COMMAND cholesky --sim-dry --kernel-rates /nonexistent --ranks 2)
shoal_add_error_test(bad_rates PATTERN "not_symmetric.mtx: this file has no kernel rates"
                     COMMAND gemm2d --sim-dry --kernel-rates "${small_data}/not_symmetric.mtx")
shoal_add_error_test(calibrate_one_rank PATTERN "measured between two ranks"
                     COMMAND calibrate net)
shoal_add_app_run(calibrate_trees PATTERN "multicast-costs = .[0-9]+ns,[0-9]+ns,[0-9]+ns,[0-9]+ns."
                  COMMAND calibrate net --ranks 4 --workers 1 --repetitions 3)
shoal_add_error_test(calibrate_sizes_of_net PATTERN "--sizes is for kernels"
                     COMMAND calibrate net --ranks 2 --sizes 64)
shoal_add_error_test(calibrate_repetitions_of_kernels PATTERN "--repetitions is for net"
                     COMMAND calibrate kernels --workers 1 --repetitions 2)
shoal_add_error_test(calibrate_simulated PATTERN "a simulated world is not measured"
                     COMMAND calibrate net --sim --ranks 2)
shoal_add_error_test(calibrate_unwritable PATTERN "cannot write to /nonexistent/k.json"
                     COMMAND calibrate kernels --workers 1 --out /nonexistent/k.json)
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

include("${CMAKE_CURRENT_LIST_DIR}/bfs/tests.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/insitu/tests.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/objects.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/qr/tests.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/contention/tests.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/memory_tests.cmake")
if(NOT SHOAL_SANITIZE AND NOT SHOAL_COVERAGE)
  include("${CMAKE_CURRENT_LIST_DIR}/wrong_results.cmake")
endif()

shoal_add_error_test(trace_dash PATTERN "a trace cannot go to standard output"
                     COMMAND cholesky --n 100 --ranks 2 --trace -)
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
