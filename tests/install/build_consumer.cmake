# cmake -DCOMPILER=... -DLAUNCHER=... -DBUILD_TYPE=... -DSHOAL_SOURCE_DIR=... -DSHOAL_BINARY_DIR=...
#       -DC_COMPILER=... -DFORTRAN_COMPILER=... -DVERSION=... -DMPIS=... -DSCRATCH=...
#       -P build_consumer.cmake
# Installs shoal and builds the project of this folder on it, in SCRATCH, and runs it; then moves
# what was installed and builds programs with pkg-config.

include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

file(REMOVE_RECURSE "${SCRATCH}")
set(prefix "${SCRATCH}/prefix")
run("${CMAKE_COMMAND}" --install "${SHOAL_BINARY_DIR}" --prefix "${prefix}")
set(configure
    "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -G Ninja "-DCMAKE_CXX_COMPILER=${COMPILER}"
    "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" "-DCMAKE_PREFIX_PATH=${prefix}" -B)
run(${configure} "${SCRATCH}/build" "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}")
expect_not("no build type")
run("${CMAKE_COMMAND}" --build "${SCRATCH}/build" --parallel 2)
run("${SCRATCH}/build/consumer" --ranks 3 --workers 2)

# Its RUNPATH leads to the plug-ins of the installed library, also where it is installed itself.
run("${CMAKE_COMMAND}" --install "${SCRATCH}/build" --prefix "${SCRATCH}/consumer")
foreach(program IN ITEMS "${SCRATCH}/build/consumer" "${SCRATCH}/consumer/bin/consumer")
  run("${program}" --info)
  foreach(mpi IN LISTS MPIS)
    expect("${mpi} [(]${prefix}/lib[^ ]*/libshoal_mpi_${mpi}.so[)]")
  endforeach()
endforeach()
run(${configure} "${SCRATCH}/build" -DCMAKE_BUILD_TYPE=)
expect("no build type")
run(${configure} "${SCRATCH}/build" -DCMAKE_BUILD_TYPE= -DSHOAL_WARN_BUILD_TYPE=OFF)
expect_not("no build type")

# Tools.
run("${prefix}/bin/shoal-explore" --seeds 6 -- "${SCRATCH}/build/consumer" --ranks 3)
foreach(program IN ITEMS "${prefix}/bin/shoal-explore" "${prefix}/bin/shoal-bench"
                         "${prefix}/bin/shoal-trace" "${prefix}/bin/shoal-top"
                         "${SCRATCH}/build/consumer")
  run("${program}" --version)
  expect("^shoal ${VERSION}\n$")
endforeach()
must_fail("${prefix}/bin/shoal-bench" --list)
expect("no case files in ${prefix}/bench/cases. Benchmarks are run from a checkout")

# Programs in C: a project, and by hand.
set(tests "${SHOAL_SOURCE_DIR}/tests")
run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/c" -B "${SCRATCH}/build_c" -G Ninja
    "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
    "-DCMAKE_PREFIX_PATH=${prefix}" "-DTESTS=${tests}")
run("${CMAKE_COMMAND}" --build "${SCRATCH}/build_c")
run("${SCRATCH}/build_c/with_event" mine --ranks 3 --workers 2)
run("${SCRATCH}/build_c/with_edat")
file(GLOB_RECURSE library "${prefix}/lib*/libshoal_edat.so")
cmake_path(GET library PARENT_PATH folder)
set(include "${prefix}/include/shoal")
run("${C_COMPILER}" "${tests}/edat/listings/more_calls.c" -o "${SCRATCH}/more_calls"
    "-I${include}/edat" "-L${folder}" "-Wl,-rpath,${folder}" -lshoal_edat)
run("${SCRATCH}/more_calls")
run(readlink -f "${folder}/libshoal_edat.so")
expect("libshoal_edat\\.so\\.${VERSION}\n$")
if(FORTRAN_COMPILER)
  run("${FORTRAN_COMPILER}" "${tests}/fortran/reduction.f90" -o "${SCRATCH}/reduction"
      "-J${SCRATCH}" "-I${include}/fortran" "-L${folder}" "-Wl,-rpath,${folder}"
      -lshoal_fortran -lshoal_c)
  run("${SCRATCH}/reduction")
endif()

# edat.py finds the library beside it, also when both have moved.
function(run_python_example prefix)
  set(ENV{PYTHONPATH} "${prefix}/share/shoal/python")
  unset(ENV{SHOAL_EDAT_LIBRARY})
  run(python3 -B "${tests}/edat/python/sums.py")
  expect("1 parts, the last from rank 0: 4950\n$")
endfunction()
run_python_example("${prefix}")

# With pkg-config, which finds everything where the files are.
set(moved "${SCRATCH}/moved to")
string(REPLACE "${prefix}" "${moved}" folder "${folder}")
file(RENAME "${prefix}" "${moved}")
set(ENV{PKG_CONFIG_PATH} "${folder}/pkgconfig")
run_python_example("${moved}")

# pkg_config(<out> <name>): the flags as a list.
function(pkg_config out name)
  run(pkg-config --cflags --libs ${name})
  separate_arguments(output UNIX_COMMAND "${output}")
  set(${out} ${output} PARENT_SCOPE)
endfunction()

run(pkg-config --modversion shoal shoal_c shoal_edat)
expect("^${VERSION}\n${VERSION}\n${VERSION}\n$")
pkg_config(flags shoal)
set(source "${CMAKE_CURRENT_LIST_DIR}/main.cpp")
run(${LAUNCHER} "${COMPILER}" -std=c++20 -Werror -c "${source}" -o "${SCRATCH}/main.o" ${flags})
run("${COMPILER}" "${SCRATCH}/main.o" -o "${SCRATCH}/by_pkg_config" ${flags})
run("${SCRATCH}/by_pkg_config" --ranks 3 --workers 2)
run("${SCRATCH}/by_pkg_config" --info)
foreach(mpi IN LISTS MPIS)
  expect("${mpi} [(]${folder}/libshoal_mpi_${mpi}.so[)]")
endforeach()
pkg_config(flags shoal_c)
run("${C_COMPILER}" -std=c11 "${tests}/c/event_calls.c" -o "${SCRATCH}/c_by_pkg_config" ${flags}
    "-Wl,-rpath,${folder}")
run("${SCRATCH}/c_by_pkg_config" mine --ranks 3 --workers 2)
run(objdump -p "${SCRATCH}/c_by_pkg_config")
string(REGEX MATCH "^[0-9]+\\.[0-9]+" so_version "${VERSION}")
expect("NEEDED +libshoal_c\\.so\\.${so_version}\n")
pkg_config(flags shoal_edat)
run("${C_COMPILER}" "${tests}/edat/listings/more_calls.c" -o "${SCRATCH}/edat_by_pkg_config"
    ${flags} "-Wl,-rpath,${folder}")
run("${SCRATCH}/edat_by_pkg_config")

# A program with other flags than shoal's: the linker says what is wrong.
pkg_config(flags shoal)
must_fail("${COMPILER}" -std=c++20 -fsanitize=thread -D_GLIBCXX_DEBUG "${source}" -o
          "${SCRATCH}/other_flags" ${flags})
expect("shoal_was_built_without_thread_sanitizer__configure_it_with_SHOAL_SANITIZE_thread")
expect("shoal_was_built_without_GLIBCXX_DEBUG__configure_it_with_SHOAL_GLIBCXX_DEBUG_ON")
