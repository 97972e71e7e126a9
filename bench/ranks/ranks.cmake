# Shared by kernels of several ranks.

include_guard(GLOBAL)

# It chooses no MPI: each program links its own.
add_library(bench_ranks STATIC "${CMAKE_CURRENT_LIST_DIR}/program.cpp")
shoal_bench_defaults(bench_ranks)
target_link_libraries(bench_ranks PUBLIC bench_common shoal_cli fmt::fmt)

# shoal_bench_mpi_program(<name> <source>... LINK <library>...)
# Programs <name>_<mpi> without shoal, for every MPI that a case runs bench/<name>_<mpi> on.
function(shoal_bench_mpi_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK")
  foreach(mpi IN LISTS SHOAL_MPI_PLUGINS)
    if(NOT shoal_bench_commands MATCHES "bench/${name}_${mpi}[ \"]")
      continue()
    endif()
    shoal_bench_program(${name}_${mpi} ${arg_UNPARSED_ARGUMENTS}
                        LINK ${arg_LINK} ${SHOAL_MPI_${mpi}_TARGET})
    target_compile_definitions(${name}_${mpi} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  endforeach()
endfunction()

# shoal_bench_shoal_program(<name> <source>... LINK <library>...)
# Program <name> with shoal, for every MPI.
function(shoal_bench_shoal_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK")
  shoal_bench_objects(${name}_parts ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name}_parts PUBLIC ${arg_LINK})
  shoal_bench_program(${name} LINK ${name}_parts shoal::shoal)
endfunction()
