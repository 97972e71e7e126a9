# OpenMP with both compilers: the one of the build for its own library, and clang for LLVM's.

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  find_package(OpenMP QUIET COMPONENTS CXX)
endif()
if(OpenMP_CXX_FOUND)
  shoal_bench_program(tasks_openmp_gcc openmp.cpp LINK bench_tasks OpenMP::OpenMP_CXX)
  target_compile_definitions(tasks_openmp_gcc PRIVATE BENCH_SIDE="openmp_gcc")
endif()

find_program(SHOAL_CLANG NAMES clang++-16 clang++)
find_library(
  SHOAL_LIBOMP omp
  PATHS /usr/lib/llvm-16/lib
  NO_CACHE)
if(NOT SHOAL_CLANG
   OR NOT SHOAL_LIBOMP
   OR SHOAL_SANITIZE)
  return()
endif()

# Another compiler than that of the build needs a command of its own.
set(object "${CMAKE_CURRENT_BINARY_DIR}/openmp_llvm.o")
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}}")
add_custom_command(
  OUTPUT "${object}"
  COMMAND
    ${SHOAL_CCACHE} "${SHOAL_CLANG}" ${flags} -std=c++20 -fopenmp "-DBENCH_SIDE=\"openmp_llvm\""
    "-I${PROJECT_SOURCE_DIR}/bench" -MD -MF "${object}.d" -c "${CMAKE_CURRENT_SOURCE_DIR}/openmp.cpp"
    -o "${object}"
  DEPENDS openmp.cpp
  DEPFILE "${object}.d"
  VERBATIM)
shoal_bench_program(tasks_openmp_llvm "${object}" LINK bench_tasks "${SHOAL_LIBOMP}")
set_target_properties(tasks_openmp_llvm PROPERTIES LINKER_LANGUAGE CXX)
