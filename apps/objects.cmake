# Tests of the programs of distributed objects: included by apps/tests.cmake.

foreach(line IN ITEMS
        "jacobi --n 40 --iterations 20" "kmeans --points 2000 --clusters 5"
        "kmeans --points 2000 --copy"
        "nas_cg --class S" "hub_bfs --vertices 500 --strategy everywhere"
        "hub_bfs --vertices 500 --strategy neighbors" "hub_bfs --vertices 500 --strategy striped"
        "hub_bfs --vertices 500 --strategy flat"
        "hub_bfs --vertices 500 --problem lightest-edges --strategy STRIPED"
        "components --vertices 700" "components --vertices 700 --no-tunnel" "saxpy --n 5000"
        "saxpy --n 5000 --levels 0"
        "min_element --step 500 --count 6" "min_element --step 500 --flat")
  separate_arguments(command UNIX_COMMAND "${line}")
  list(GET command 0 app)
  if(NOT TARGET ${app})
    continue()
  endif()
  string(REGEX REPLACE "[ -]+" "_" name "${line}")
  shoal_add_app_run(${name} PATTERN "; verified" LABEL apps_small COMMAND ${command} --ranks 4
                    --workers 2)
  shoal_add_app_run(${name}_sim PATTERN "; verified" LABEL apps_small COMMAND ${command} --sim
                    --ranks 2)
endforeach()

# Class S has every number of ranks; W, which takes ten times as long, one of several columns.
set(nas_cg_S_counts 1 2 4 8)
set(nas_cg_W_counts 4)
foreach(class IN ITEMS S W)
  shoal_add_app_test(
    nas_cg_${class}
    APP nas_cg
    TIMEOUT 120
    PATTERN "official.*; verified"
    RANKS ${nas_cg_${class}_counts}
    PROCESSES ${nas_cg_${class}_counts}
    ARGS --class ${class} --workers 1)
endforeach()
