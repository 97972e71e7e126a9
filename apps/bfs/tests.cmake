# Tests of bfs: included by apps/tests.cmake. The levels are a property of the graph: every variant
# finds the same ones, on any ranks and workers.

if(TARGET bfs)
  set(commands "")
  foreach(variant IN ITEMS async events level_am)
    shoal_add_app_test(
      bfs_${variant}
      APP bfs
      TIMEOUT 120
      PATTERN "trees +all 16 are good"
      LABEL apps_small
      ARGS --scale 11 --roots 16 --variant ${variant})
    shoal_add_app_test(
      bfs_file_${variant}
      APP bfs
      TIMEOUT 60
      PATTERN "14 vertices, 14 edges\n.*trees +all 12 are good"
      LABEL apps_small
      ARGS --graph "${small_data}/small_graph.mtx" --variant ${variant})
    foreach(run IN ITEMS "--ranks 1 --workers 1" "--ranks 5 --workers 1" "--ranks 3 --workers 4"
                         "--ranks 16 --sim")
      list(APPEND commands
           "$<TARGET_FILE:bfs> --scale 9 --roots 8 --seed 3 --variant ${variant} ${run}")
    endforeach()
    foreach(matrix_and_roots IN ITEMS "karate 34" "jagmesh7 64" "west0067 64")
      separate_arguments(matrix_and_roots)
      list(GET matrix_and_roots 0 matrix)
      list(GET matrix_and_roots 1 roots)
      if(EXISTS "${SHOAL_DATA_DIR}/${matrix}.mtx")
        shoal_add_app_run(
          bfs_${matrix}.${variant}
          PATTERN "trees +all ${roots} are good"
          COMMAND bfs --graph "${SHOAL_DATA_DIR}/${matrix}.mtx" --ranks 4 --variant ${variant})
      endif()
    endforeach()
    # More ranks than vertices, and fewer vertices with an edge than searches.
    shoal_add_app_run(
      bfs_tiny.${variant}
      PATTERN "trees +all [1-4] are good"
      LABEL apps_small
      COMMAND bfs --scale 2 --edgefactor 2 --ranks 9 --variant ${variant})
  endforeach()
  foreach(variant IN ITEMS async events)
    if(NOT SHOAL_SANITIZE)
      shoal_add_app_test(
        bfs_scale16_${variant}
        APP bfs
        TIMEOUT 600
        PATTERN "trees +all 16 are good"
        RANKS 4
        PROCESSES 4
        ARGS --scale 16 --roots 16 --variant ${variant})
    endif()
  endforeach()
  list(JOIN commands "|" commands)
  add_test(NAME apps.bfs_same_levels
           COMMAND "${CMAKE_COMMAND}"
                   "-DPATTERN=checksum +[0-9a-f]+ of all levels\n +trees +all 8 are good"
                   "-DCOMMANDS=${commands}" -P
                   "${PROJECT_SOURCE_DIR}/tests/apps/compare_lines.cmake")
  shoal_test_properties(apps.bfs_same_levels apps 120 PROCESSORS 2)
  shoal_add_app_script(bfs_json tests/apps/bfs_json_test.py bfs)
endif()
