# Follows "A first program" of the README word for word, and runs the result. Only the optimization
# and units of few files are left out: the compiler takes a third of the time then.
#   cmake -DSHOAL_SOURCE_DIR=... -DSCRATCH=... -DCOMPILER=... -DLAUNCHER=... -P first_program.cmake
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

file(REMOVE_RECURSE "${SCRATCH}")
file(MAKE_DIRECTORY "${SCRATCH}")
file(COPY "${SHOAL_SOURCE_DIR}/apps/tutorial/hello.cpp"
          "${SHOAL_SOURCE_DIR}/docs/first_program/CMakeLists.txt" DESTINATION "${SCRATCH}")
file(CREATE_LINK "${SHOAL_SOURCE_DIR}" "${SCRATCH}/shoal" SYMBOLIC)
run("${CMAKE_COMMAND}" -G Ninja -S "${SCRATCH}" -B "${SCRATCH}/build"
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O0
    -DCMAKE_UNITY_BUILD_BATCH_SIZE=0 "-DCMAKE_CXX_COMPILER=${COMPILER}"
    "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}")
expect_not("Warning")
run("${CMAKE_COMMAND}" --build "${SCRATCH}/build" --parallel 2)
run("${SCRATCH}/build/hello" --ranks 4)
foreach(rank IN ITEMS 0 1 2 3)
  if(NOT output MATCHES "Hello from rank ${rank} of 4\\.")
    message(FATAL_ERROR "rank ${rank} did not say hello:\n${output}")
  endif()
endforeach()
