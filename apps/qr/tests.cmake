# Tests of the programs that factor matrices in a sequential flow: included by apps/tests.cmake.

foreach(app IN ITEMS flow_cholesky lu qr)
  shoal_add_app_test(
    ${app}
    APP ${app}
    TIMEOUT 120
    PATTERN "residual +[0-9.e-]+ .* good"
    ARGS --n 300 --tile 48)
  shoal_add_app_run(${app}_one_row COMMAND ${app} --n 200 --tile 32 --ranks 3 --grid 1x3 --repeat 2)
  shoal_add_app_run(${app}_sim COMMAND ${app} --sim-check --ranks 6 --workers 2 --n 120 --tile 24)
  shoal_add_app_run(${app}_small COMMAND ${app} --n 10 --tile 16 --ranks 2)
endforeach()
shoal_add_app_run(qr_dry_256_ranks COMMAND qr --sim-dry --ranks 256 --workers 1 --n 4096 --tile 256)

set(least_squares_report "residual +[0-9.e-]+ .* good[^@]*distance +[0-9.e+-]+")
foreach(ranks IN ITEMS 1 4)
  shoal_add_app_run(
    least_squares.ranks${ranks}
    PATTERN "${least_squares_report}"
    COMMAND least_squares "${small_data}/tall.mtx" --tile 2 --ranks ${ranks})
endforeach()
shoal_add_app_test(
  least_squares_random
  APP least_squares
  TIMEOUT 120
  PATTERN "${least_squares_report}"
  ARGS --n 301 --tile 48)
shoal_add_app_run(least_squares_one_row COMMAND least_squares --n 200 --tile 32 --ranks 3 --grid 1x3
                  --repeat 2)
shoal_add_app_run(least_squares_sim COMMAND least_squares --sim-check --ranks 6 --workers 2 --n 120
                  --tile 24)
shoal_add_app_run(least_squares_one PATTERN "${least_squares_report}" COMMAND least_squares --n 1)
shoal_add_app_run(least_squares_dry COMMAND least_squares --sim-dry --ranks 64 --n 2048 --tile 128)
# Numbers whose squares overflow or vanish: right results are good, and wrong ones are not.
foreach(size IN ITEMS large huge tiny)
  shoal_add_app_run(
    least_squares_${size}
    PATTERN "${least_squares_report}"
    COMMAND least_squares "${small_data}/tall_${size}.mtx" --tile 2 --ranks 2)
endforeach()
if(EXISTS "${SHOAL_DATA_DIR}/west0067.mtx")
  shoal_add_app_test(
    least_squares_west0067
    APP least_squares
    TIMEOUT 60
    PATTERN "${least_squares_report}"
    ARGS "${SHOAL_DATA_DIR}/west0067.mtx" --tile 16)
endif()
