# cmake -DCOMPILER=... -DSHOAL_BINARY_DIR=... -DRUN=... -DSCRATCH=... -P sanitized.cmake
# The flags of a shoal that is built for ThreadSanitizer reach the program that uses it installed.

include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

file(REMOVE_RECURSE "${SCRATCH}")
run("${CMAKE_COMMAND}" --install "${SHOAL_BINARY_DIR}" --prefix "${SCRATCH}/prefix")
run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${SCRATCH}/build" -G Ninja
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_PREFIX_PATH=${SCRATCH}/prefix"
    -DSHOAL_SANITIZE=thread -DSHOAL_WARN_BUILD_TYPE=OFF)
run("${CMAKE_COMMAND}" --build "${SCRATCH}/build" --target consumer)
run(nm "${SCRATCH}/build/CMakeFiles/consumer.dir/main.cpp.o")
expect("__tsan_func_entry")
run(${RUN} "${SCRATCH}/build/consumer" --ranks 3 --workers 2)
file(GLOB_RECURSE pc "${SCRATCH}/prefix/*/shoal.pc")
run(cat ${pc})
expect("Cflags: [^\n]*-fsanitize=")
expect("Libs: [^\n]*-fsanitize=")
