# Shared by kernels of several ranks.

include_guard(GLOBAL)

# It chooses no MPI: each program links its own.
add_library(bench_ranks STATIC "${CMAKE_CURRENT_LIST_DIR}/program.cpp")
shoal_bench_defaults(bench_ranks)
target_link_libraries(bench_ranks PUBLIC bench_common shoal_cli fmt::fmt)

# Sets `out` to the MPIs on which a case or a budget runs bench/<name>_<mpi>, and `none` likewise.
function(shoal_bench_variants name out)
  set(used "")
  foreach(variant IN LISTS SHOAL_MPI_VARIANTS ITEMS none)
    if(shoal_bench_commands MATCHES "bench/${name}_${variant}[ \"]")
      list(APPEND used ${variant})
    endif()
  endforeach()
  set(${out} ${used} PARENT_SCOPE)
endfunction()

# shoal_bench_mpi_program(<name> <source>... LINK <library>...)
# Programs <name>_<mpi> without shoal, for every MPI that a case runs them on.
function(shoal_bench_mpi_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK")
  shoal_bench_variants(${name} variants)
  foreach(variant IN LISTS variants)
    shoal_bench_program(${name}_${variant} ${arg_UNPARSED_ARGUMENTS}
                        LINK ${arg_LINK} ${SHOAL_MPI_${variant}_TARGET})
    target_compile_definitions(${name}_${variant} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  endforeach()
endfunction()

# shoal_bench_shoal_program(<name> <source>... LINK <library>...)
# Programs <name>_<mpi> with shoal, on every MPI that a case runs them on: compiled once.
function(shoal_bench_shoal_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK")
  shoal_bench_objects(${name}_parts ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name}_parts PUBLIC ${arg_LINK})
  shoal_bench_variants(${name} variants)
  foreach(variant IN LISTS variants)
    shoal_bench_program(${name}_${variant} LINK ${name}_parts shoal::shoal_${variant})
  endforeach()
endfunction()
