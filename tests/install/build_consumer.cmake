# cmake -DCOMPILER=... -DLAUNCHER=... -DBUILD_TYPE=... -DSHOAL_SOURCE_DIR=... -DSHOAL_BINARY_DIR=...
#       -DC_COMPILER=... -DFORTRAN_COMPILER=... -DSCRATCH=... -P build_consumer.cmake
# Installs shoal and builds the project of this folder on it, in SCRATCH, and runs it. Configures it
# on the sources too; first_program.cmake builds such a project.

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${SCRATCH}")
run("${CMAKE_COMMAND}" --install "${SHOAL_BINARY_DIR}" --prefix "${SCRATCH}/prefix")
set(configure
    "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -G Ninja "-DCMAKE_CXX_COMPILER=${COMPILER}"
    "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}")
run(${configure} -B "${SCRATCH}/subfolder" "-DSHOAL_SOURCE_DIR=${SHOAL_SOURCE_DIR}")
run(${configure} -B "${SCRATCH}/build" "-DCMAKE_PREFIX_PATH=${SCRATCH}/prefix")
run("${CMAKE_COMMAND}" --build "${SCRATCH}/build" --parallel 2)
foreach(program IN ITEMS consumer consumer_none)
  run("${SCRATCH}/build/${program}" --ranks 3 --workers 2)
endforeach()
run("${SCRATCH}/prefix/bin/shoal-explore" --seeds 6 -- "${SCRATCH}/build/consumer" --ranks 3)

# Programs in C: a project, and by hand.
set(tests "${SHOAL_SOURCE_DIR}/tests")
run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/c" -B "${SCRATCH}/build_c" -G Ninja
    "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
    "-DCMAKE_PREFIX_PATH=${SCRATCH}/prefix" "-DTESTS=${tests}")
run("${CMAKE_COMMAND}" --build "${SCRATCH}/build_c")
run("${SCRATCH}/build_c/with_event" mine --ranks 3 --workers 2)
run("${SCRATCH}/build_c/with_edat")
file(GLOB_RECURSE library "${SCRATCH}/prefix/lib*/libshoal_edat.so")
cmake_path(GET library PARENT_PATH folder)
set(include "${SCRATCH}/prefix/include/shoal")
run("${C_COMPILER}" "${tests}/edat/listings/more_calls.c" -o "${SCRATCH}/more_calls"
    "-I${include}/edat" "-L${folder}" "-Wl,-rpath,${folder}" -lshoal_edat)
run("${SCRATCH}/more_calls")
if(FORTRAN_COMPILER)
  run("${FORTRAN_COMPILER}" "${tests}/fortran/reduction.f90" -o "${SCRATCH}/reduction"
      "-J${SCRATCH}" "-I${include}/fortran" "-L${folder}" "-Wl,-rpath,${folder}"
      -lshoal_fortran_module -lshoal_c)
  run("${SCRATCH}/reduction")
endif()
