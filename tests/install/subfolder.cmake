# cmake -DCOMPILER=... -DSHOAL_SOURCE_DIR=... -DSCRATCH=... -P subfolder.cmake
# What the project of this folder gets with shoal as a subfolder. Nothing is compiled here:
# first_program.cmake does that.

include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

file(REMOVE_RECURSE "${SCRATCH}")
set(configure
    "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${SCRATCH}/build" -G Ninja
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DSHOAL_SOURCE_DIR=${SHOAL_SOURCE_DIR}")

# expect_command(<file> <regex>): of compile_commands.json.
function(expect_command file pattern)
  file(READ "${SCRATCH}/build/compile_commands.json" commands)
  string(REGEX MATCH "\"command\": \"[^\n]*/${file}\"" command "${commands}")
  if(NOT command MATCHES "${pattern}")
    message(FATAL_ERROR "${file} is compiled without ${pattern}: ${command}")
  endif()
endfunction()

# Without a build type: a warning, and shoal is optimized.
run(${configure})
string(REGEX MATCHALL "has no build type" warnings "${output}")
list(LENGTH warnings count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "${count} warnings")
endif()
expect_command("shoal_am_unity_0.cpp" "-O2 .*-DNDEBUG|-DNDEBUG .*-O2")

# Nothing is installed, and only what the programs link is built.
run("${CMAKE_COMMAND}" --install "${SCRATCH}/build" --prefix "${SCRATCH}/prefix")
file(GLOB_RECURSE installed "${SCRATCH}/prefix/*")
if(installed)
  message(FATAL_ERROR "installed: ${installed}")
endif()
set(ninja_commands ninja -C "${SCRATCH}/build" -t commands all)
run(${ninja_commands})
expect(" -o consumer ")
expect("libshoal_mpi_openmpi.so")
expect_not("c_api|edat_|fortran")

# A chosen optimization stays.
run(${configure} -DCMAKE_CXX_FLAGS=-O0)
expect_not("no build type")
expect_command("shoal_am_unity_0.cpp" "-O0")
file(READ "${SCRATCH}/build/compile_commands.json" text)
if(text MATCHES "-O2")
  message(FATAL_ERROR "-O2 goes before the project's -O0")
endif()

# Flags that types and calls depend on reach the users.
run(${configure} -DCMAKE_CXX_FLAGS= -DSHOAL_WARN_BUILD_TYPE=OFF -DSHOAL_SANITIZE=address
    -DSHOAL_GLIBCXX_DEBUG=ON)
expect_not("no build type")
foreach(file IN ITEMS "shoal_am_unity_0.cpp" "main.cpp")
  expect_command(${file} "-fsanitize=address")
  expect_command(${file} "-D_GLIBCXX_DEBUG")
endforeach()

# The project installs shoal if it asks for that.
run(${configure} -DSHOAL_INSTALL=ON)
run(${ninja_commands})
expect("-o shoal/src/libshoal_edat.so.[0-9]")

# Precompiled headers need no launcher of the compiler.
run(${configure} -DSHOAL_INSTALL=OFF -DSHOAL_PCH=ON)
run(${ninja_commands})
expect("new_output /")
