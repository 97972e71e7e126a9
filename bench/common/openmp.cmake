# OpenMP with both compilers: the one of the build for its own library, and clang for LLVM's.

include_guard(GLOBAL)

# shoal_bench_openmp_programs(<group> <library>)
# Programs <group>_openmp_gcc and <group>_openmp_llvm of the folder's openmp.cpp, which BENCH_SIDE
# tells its name.
function(shoal_bench_openmp_programs group library)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    find_package(OpenMP QUIET COMPONENTS CXX)
  endif()
  find_program(SHOAL_CLANG NAMES clang++-16 clang++)
  find_library(
    SHOAL_LIBOMP omp
    PATHS /usr/lib/llvm-16/lib
    NO_CACHE)
  if(OpenMP_CXX_FOUND)
    shoal_bench_program(${group}_openmp_gcc openmp.cpp LINK ${library} OpenMP::OpenMP_CXX)
    set_target_properties(${group}_openmp_gcc PROPERTIES DISABLE_PRECOMPILE_HEADERS ON) # -fopenmp
    target_compile_definitions(${group}_openmp_gcc PRIVATE BENCH_SIDE="openmp_gcc")
  endif()
  if(SHOAL_CLANG
     AND SHOAL_LIBOMP
     AND NOT SHOAL_SANITIZE)
    shoal_bench_openmp_llvm_program(${group} ${library})
  endif()
endfunction()

# Another compiler than that of the build needs a command of its own.
function(shoal_bench_openmp_llvm_program group library)
  set(object "${CMAKE_CURRENT_BINARY_DIR}/openmp_llvm.o")
  string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}}")
  add_custom_command(
    OUTPUT "${object}"
    COMMAND
      ${SHOAL_CCACHE} "${SHOAL_CLANG}" ${flags} -std=c++20 -fopenmp "-DBENCH_SIDE=\"openmp_llvm\""
      "-I${PROJECT_SOURCE_DIR}/bench" -MD -MF "${object}.d" -c
      "${CMAKE_CURRENT_SOURCE_DIR}/openmp.cpp" -o "${object}"
    DEPENDS openmp.cpp
    DEPFILE "${object}.d"
    VERBATIM)
  shoal_bench_program(${group}_openmp_llvm "${object}" LINK ${library} "${SHOAL_LIBOMP}")
  set_target_properties(${group}_openmp_llvm PROPERTIES LINKER_LANGUAGE CXX)
endfunction()
