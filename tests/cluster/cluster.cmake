# Tests over several hosts on one machine (tools/cluster). Each starts a cluster of its own.

set(cluster_skipped 77) # exit code of tools/cluster where namespaces are not allowed

add_test(NAME cluster.skip COMMAND Python3::Interpreter
                                   "${PROJECT_SOURCE_DIR}/tests/cluster/skip_test.py"
                                   ${cluster_skipped})
shoal_test_properties(cluster.skip cluster 60 PROCESSORS 1)

# shoal_add_cluster_test(<test> CASE <case> TIMEOUT <s> [ARGS <argument>...])
function(shoal_add_cluster_test test)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "CASE;TIMEOUT;PROCESSORS" "ARGS")
  add_test(
    NAME cluster.${test}
    COMMAND
      "${PROJECT_SOURCE_DIR}/tools/cluster" with 4 -- "${Python3_EXECUTABLE}"
      "${PROJECT_SOURCE_DIR}/tests/cluster/cluster_test.py" ${arg_CASE} ${arg_ARGS})
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 2)
  endif()
  shoal_test_properties(cluster.${test} cluster ${arg_TIMEOUT} PROCESSORS ${arg_PROCESSORS})
  set_tests_properties(cluster.${test} PROPERTIES SKIP_RETURN_CODE ${cluster_skipped})
endfunction()

# Applications, with arguments for a short run; some more are below.
set(application_runs
    "cholesky --n 300 --tile 50"
    "cholesky --n 200 --tile 20" # tiles in small messages
    "gemm2d --n 200 --tile 50"
    "bfs --scale 7 --roots 2"
    "insitu"
    "lu --n 160 --tile 40"
    "qr --n 160 --tile 40"
    "flow_cholesky --n 160 --tile 40"
    "least_squares --n 161 --tile 48"
    "jacobi --n 64 --iterations 5"
    "kmeans --points 400"
    "nas_cg --class S"
    "components"
    "hub_bfs"
    "saxpy"
    "min_element")
set(memory_applications
    "gups --log-size 10"
    "sparse_solve --grid 16"
    "barnes_hut --bodies 400"
    "ebms --particles 800")

# Sets `out` to the commands of these runs, "<application> <argument>...", on an MPI.
function(shoal_cluster_runs mpi out)
  set(commands)
  foreach(run IN LISTS ARGN)
    string(REPLACE " " ";" run "${run}")
    list(POP_FRONT run app)
    shoal_app_on_mpi(${app} ${mpi} program)
    if(program AND TARGET ${program})
      list(JOIN run " " arguments)
      list(APPEND commands "$<TARGET_FILE:${program}> ${arguments} --workers 1")
    endif()
  endforeach()
  set(${out} ${commands} PARENT_SCOPE)
endfunction()

# Commands of the applications on an MPI; on one rank of each host and the first MPI, the programs
# of the tutorial too. One worker each: every host believes that it has all processors of the
# machine.
function(shoal_cluster_applications mpi per_host out)
  set(calibrate "calibrate net --repetitions 1")
  if(mpi STREQUAL "mpich")
    string(APPEND calibrate " --global-rma 16") # Open MPI 4.1 refuses it by default
  endif()
  set(runs ${application_runs} "${calibrate}")
  if(per_host EQUAL 1)
    list(APPEND runs "gemm3d --n 160 --tile 40 --ranks-per-process 2") # needs 8 ranks
  else()
    list(APPEND runs "gemm3d --n 160 --tile 40" ${memory_applications})
  endif()
  list(FIND SHOAL_MPI_PLUGINS ${mpi} index)
  shoal_cluster_runs(${mpi} commands ${runs})
  if(per_host EQUAL 1) # of two processes
    shoal_cluster_runs(${mpi} pairs "overlap --tasks 4 --messages 2")
    list(TRANSFORM pairs PREPEND "2:")
    list(APPEND commands ${pairs})
  endif()
  shoal_app_on_mpi(contention ${mpi} program)
  if(per_host EQUAL 1 AND program AND TARGET ${program})
    list(APPEND commands "2:$<TARGET_FILE:${program}> measure --quick --repetitions 1 --duration 1 \
--memory 1 --message-bytes 65536 -o -")
  endif()
  if(TARGET flow_broadcast) # broadcasts of short and of large values, checked
    set(program "$<TARGET_FILE:flow_broadcast> --repeat 2 --workers 1")
    list(APPEND commands "${program} --bytes 8" "${program} --bytes 300000")
  endif()
  if(index EQUAL 0 AND per_host EQUAL 1)
    get_property(tutorials GLOBAL PROPERTY SHOAL_TUTORIALS)
    foreach(program IN LISTS tutorials)
      list(APPEND commands "$<TARGET_FILE:${program}> --workers 1")
    endforeach()
  endif()
  set(${out} ${commands} PARENT_SCOPE)
endfunction()

# Tests of the hosts beside the applications. Not runtime_stream_test, which looks into links that
# TCP treats differently, nor net_node_memory_test, which is about one host.
set(transport_names
    net_transport_init_test
    net_transport_test
    net_transport_policy_test
    net_transport_funneled_test
    net_transport_single_test
    net_transport_failure_test)
set(world_names
    runtime_failure_test
    runtime_huge_message_test
    flow_world_test
    object_world_test)
set(world_names_of_4 runtime_call_test event_world_test) # 8 processes take 7 to 18 s for each

# Global memory between hosts: the applications, whose results are compared with serial ones, and
# the battery, in which no heap of another host can be mapped.
set(memory_runs ${memory_applications} "gups --log-size 10 --gather"
                "ebms --particles 800 --prefetch")
function(shoal_cluster_memory_programs mpi out)
  if(mpi STREQUAL "mpich")
    list(APPEND memory_runs "ebms --particles 800 --global-rma 64")
  endif()
  shoal_cluster_runs(${mpi} commands ${memory_runs})
  shoal_mpi_test_program(memory_world_test ${mpi} program)
  list(JOIN program " " program)
  set(${out} "${program}" ${commands} PARENT_SCOPE)
endfunction()

shoal_add_cluster_test(tool CASE tool TIMEOUT 120 PROCESSORS 1)

shoal_test_program(cluster_rounds "${PROJECT_SOURCE_DIR}/tests/cluster/rounds.cpp" shoal::shoal)
add_dependencies(cluster_rounds shoal-top)
foreach(mpi IN LISTS SHOAL_MPI_PLUGINS)
  shoal_mpi_launcher(${mpi} 1 launcher)
  list(GET launcher 0 launcher)
  set(options --mpi ${mpi} --launcher "${launcher}")
  if(mpi STREQUAL "mpich")
    add_library(cluster_mpich_finalize SHARED
                "${PROJECT_SOURCE_DIR}/tests/cluster/mpich_finalize.cpp")
    shoal_target_defaults(cluster_mpich_finalize)
    list(APPEND options --preload
         "$<TARGET_FILE:cluster_mpich_finalize>:$<TARGET_FILE:shoal_mpich_yield>")
  endif()
  list(APPEND options --rounds $<TARGET_FILE:cluster_rounds> --top $<TARGET_FILE:shoal-top>)

  foreach(per_host IN ITEMS 1 2)
    set(names ${transport_names} ${world_names})
    if(per_host EQUAL 1)
      list(APPEND names ${world_names_of_4})
    endif()
    set(programs "2:$<TARGET_FILE:mpi_${mpi}_tests> net_rest_test")
    foreach(name IN LISTS names)
      shoal_mpi_test_program(${name} ${mpi} program)
      list(JOIN program " " program)
      list(APPEND programs "${program}")
    endforeach()
    shoal_cluster_applications(${mpi} ${per_host} applications)
    shoal_add_cluster_test(
      ${mpi}.apps.4x${per_host}
      CASE programs
      TIMEOUT 300
      ARGS ${options} --per-host ${per_host} ${applications})
    shoal_add_cluster_test(
      ${mpi}.transport.4x${per_host}
      CASE programs
      TIMEOUT 300
      ARGS ${options} --per-host ${per_host} ${programs})
  endforeach()
  shoal_cluster_memory_programs(${mpi} programs)
  shoal_add_cluster_test(
    ${mpi}.memory.4x1
    CASE programs
    TIMEOUT 300
    ARGS ${options} ${programs})
  # These wait more than they compute: one at a time leaves the processors to other tests.
  foreach(case IN ITEMS top mended cut killed different slurm)
    shoal_add_cluster_test(
      ${mpi}.${case}
      CASE ${case}
      TIMEOUT 180
      PROCESSORS 1
      ARGS ${options})
    set_tests_properties(cluster.${mpi}.${case} PROPERTIES RESOURCE_LOCK cluster_waits)
  endforeach()
endforeach()
