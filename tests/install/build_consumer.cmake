# cmake -DWAY=find_package|add_subdirectory -DCOMPILER=... -DLAUNCHER=... -DBUILD_TYPE=...
#       -DSHOAL_SOURCE_DIR=... -DSHOAL_BINARY_DIR=... -DSCRATCH=... -P build_consumer.cmake
# Builds the project of this folder in SCRATCH, on an installed shoal or its sources, and runs it.

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${SCRATCH}/prefix" "${SCRATCH}/build")
set(options "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}")
if(WAY STREQUAL "find_package")
  run("${CMAKE_COMMAND}" --install "${SHOAL_BINARY_DIR}" --prefix "${SCRATCH}/prefix")
  list(APPEND options "-DCMAKE_PREFIX_PATH=${SCRATCH}/prefix"
       "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}")
else() # everything is compiled again: not optimized, to be quick
  list(APPEND options "-DSHOAL_SOURCE_DIR=${SHOAL_SOURCE_DIR}" -DCMAKE_BUILD_TYPE=Debug)
endif()
run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${SCRATCH}/build" -G Ninja ${options})
run("${CMAKE_COMMAND}" --build "${SCRATCH}/build" --parallel 2)
foreach(program IN ITEMS consumer consumer_none)
  run("${SCRATCH}/build/${program}" --ranks 3 --workers 2)
endforeach()
