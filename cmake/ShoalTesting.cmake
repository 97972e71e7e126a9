# Functions that turn the files of tests/ into ctest tests.

set(SHOAL_TEST_TIMEOUT_SCALE 1)
if(SHOAL_SANITIZE OR SHOAL_COVERAGE)
  set(SHOAL_TEST_TIMEOUT_SCALE 4)
endif()

# ThreadSanitizer of gcc 12 cannot start under the address randomization of some kernels.
set(SHOAL_TEST_LAUNCHER "")
find_program(SHOAL_SETARCH setarch)
if(SHOAL_SANITIZE MATCHES "thread" AND SHOAL_SETARCH)
  execute_process(COMMAND "${SHOAL_SETARCH}" -R true RESULT_VARIABLE result ERROR_QUIET)
  if(result EQUAL 0)
    set(SHOAL_TEST_LAUNCHER "${SHOAL_SETARCH}" -R)
  endif()
endif()

# The compiler cache of the builds that tests start.
set(SHOAL_TEST_CCACHE "${SHOAL_CCACHE}")
if(NOT SHOAL_CCACHE)
  set(SHOAL_TEST_CCACHE "")
endif()

# What UndefinedBehaviorSanitizer checks at each access is checked in the library alone: in tests it
# takes a fifth of the compiler's time, and AddressSanitizer finds null pointers, too.
add_library(shoal_test_checks INTERFACE)
if(SHOAL_SANITIZE MATCHES "undefined")
  target_compile_options(shoal_test_checks INTERFACE -fno-sanitize=null,alignment,vptr)
endif()

shoal_pch(
  shoal_test_pch
  OPTIONS ${SHOAL_TEST_OPTIONS} "-I${PROJECT_SOURCE_DIR}/src" "-I${PROJECT_SOURCE_DIR}/tests"
  LINK shoal_core GTest::gmock shoal_test_checks # the last of all options
  HEADERS <algorithm> <chrono> <filesystem> <fstream> <functional> <map> <random> <set> <thread>
          <gmock/gmock.h> <gtest/gtest.h> <shoal/event.hpp> <shoal/shoal.hpp>
          <support/run_world.hpp> <support/turn_world.hpp>)

# Variables with which the launchers start more processes than processors, as root too. Containers
# often forbid the system call behind vader's single copy. No MPI looks for PCI devices, which in a
# virtual machine takes a quarter of starting 4 processes.
set(SHOAL_MPI_ENVIRONMENT
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_pml=ob1
    HWLOC_COMPONENTS=-pci,-linuxio)

# Options and libraries of a program of the tests, or of a part of one. It may also use the private
# headers of src/ and of apps/. The first word of its name is the kind of its tests.
function(shoal_test_defaults target)
  shoal_target_defaults(${target})
  target_compile_options(${target} PRIVATE ${SHOAL_TEST_OPTIONS})
  shoal_use_pch(${target} shoal_test_pch)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src"
                                               "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${target} PRIVATE ${ARGN} GTest::gtest # the PCH includes it
                                          shoal_test_checks)
  string(REGEX MATCH "^[a-z]+" kind "${target}")
  if(kind IN_LIST SHOAL_TESTS_ON_DEMAND)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# A program of the tests, of a source file or of objects.
function(shoal_test_program target source)
  add_executable(${target} "${source}")
  shoal_test_defaults(${target} ${ARGN})
endfunction()

# What tests of several kinds share, compiled once.
set(support "${PROJECT_SOURCE_DIR}/tests/support")
add_library(
  test_programs STATIC EXCLUDE_FROM_ALL
  "${support}/flow_program.cpp" "${support}/memory_battery.cpp" "${support}/memory_program.cpp"
  "${support}/random_collectives.cpp")
shoal_test_defaults(test_programs shoal_core)

# What tests of applications, benchmarks and tools use, as far as this build has it.
set(SHOAL_TOOL_LIBRARIES shoal_edat_api shoal_trace_tool)
foreach(library IN ITEMS shoal_app_barnes_hut shoal_app_bfs shoal_app_calibrate shoal_app_contention
                         shoal_app_ebms shoal_app_insitu shoal_app_sparse_solve shoal_apps_common
                         bench_metg)
  if(TARGET ${library})
    list(APPEND SHOAL_TOOL_LIBRARIES ${library})
  endif()
endforeach()

# What `make check` runs has the label "check" as well; the target check_programs builds what that
# needs. Each preset names the kinds that it runs there (SHOAL_CHECK_KINDS).
add_custom_target(check_programs)

# shoal_in_check(<kind> TESTS <test>... [PROGRAMS <target>...])
function(shoal_in_check kind)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "TESTS;PROGRAMS")
  if(NOT kind IN_LIST SHOAL_CHECK_KINDS)
    return()
  endif()
  if(arg_PROGRAMS)
    add_dependencies(check_programs ${arg_PROGRAMS})
  endif()
  foreach(test IN LISTS arg_TESTS)
    set_property(TEST ${test} APPEND PROPERTY LABELS check)
  endforeach()
endfunction()

# Label and time limit (stretched by sanitizers) of a test; then further properties with values.
# Open MPI fails to start where another launch removes the folder of sessions at that moment: each
# test has one of its own, and so have the hosts of tools/cluster.
function(shoal_test_properties test label timeout)
  math(EXPR timeout "${timeout} * ${SHOAL_TEST_TIMEOUT_SCALE}")
  if(NOT label STREQUAL "cluster")
    set_property(
      TEST ${test} APPEND
      PROPERTY ENVIRONMENT_MODIFICATION
               "OMPI_MCA_orte_tmpdir_base=set:${PROJECT_BINARY_DIR}/openmpi/${test}")
  endif()
  set_tests_properties(${test} PROPERTIES LABELS ${label} TIMEOUT ${timeout} ${ARGN})
  # Long ones begin first, so that none is left alone.
  if(label STREQUAL "mpi")
    set_tests_properties(${test} PROPERTIES COST 1000)
  elseif(label MATCHES "^(cluster|docs|explore|install|lint|model|property|python|tidy|tutorial)$")
    set_tests_properties(${test} PROPERTIES COST 100)
  endif()
endfunction()

# Sets `out` to whether this build has what a file of tests needs: those of apps_<application>_ the
# applications, if these were not chosen one by one (SHOAL_APPS), those of bench_ the benchmarks.
function(shoal_has_libraries_of name out)
  set(${out} ON PARENT_SCOPE)
  string(REGEX MATCH "^([a-z]+)_([a-z]+)" layer "${name}")
  if(CMAKE_MATCH_1 STREQUAL "apps")
    if(NOT TARGET shoal_apps_common OR (SHOAL_APPS AND NOT CMAKE_MATCH_2 IN_LIST SHOAL_APPS))
      set(${out} OFF PARENT_SCOPE)
    endif()
  elseif(CMAKE_MATCH_1 STREQUAL "bench" AND NOT TARGET bench_metg)
    set(${out} OFF PARENT_SCOPE)
  endif()
endfunction()

# shoal_add_gtests(<kind> TIMEOUT <s> [NAME <name>] [ALONE <file>...] [ONLY <file>...]
#                  [LIBRARIES <target>...])
# The files tests/<kind>/<layer>_*_test.cpp, or ONLY some, are a program <name>_tests (<name>:
# <kind>), and those of a layer one ctest test <name>.<layer>, in one process. The program's first
# argument chooses a layer or a file (tests/support/joined_main.cpp). Each file has a namespace of
# its name, because several are compiled together. ALONE: files that are programs of their own.
function(shoal_add_gtests kind)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT;NAME" "ALONE;ONLY;LIBRARIES")
  set(libraries test_programs shoal_c_api shoal::shoal GTest::gmock ${arg_LIBRARIES})
  set(name ${kind})
  if(arg_NAME)
    set(name ${arg_NAME})
  endif()
  set(program ${name}_tests)
  file(GLOB files CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" ${kind}/*_test.cpp)
  set(sources "")
  set(layers "")
  foreach(file IN LISTS files)
    cmake_path(GET file STEM stem)
    shoal_has_libraries_of(${stem} has_libraries)
    if(NOT has_libraries
       OR (arg_ONLY AND NOT stem IN_LIST arg_ONLY)
       OR (SHOAL_SANITIZE MATCHES "thread" AND "${kind}/${stem}" IN_LIST SHOAL_TESTS_OF_ONE_THREAD))
      continue()
    endif()
    string(REGEX MATCH "^[a-z]+" layer "${stem}")
    set(command ${program} ${layer})
    if(stem IN_LIST arg_ALONE)
      set(layer ${stem})
      set(command ${name}_${stem})
      shoal_test_program(${command} "${file}" ${libraries} GTest::gtest_main)
    else()
      list(APPEND sources "${file}")
    endif()
    if(NOT layer IN_LIST layers)
      list(APPEND layers ${layer})
      list(POP_FRONT command first)
      add_test(NAME ${name}.${layer} COMMAND ${SHOAL_TEST_LAUNCHER} $<TARGET_FILE:${first}>
                                             ${command} --gtest_brief=1)
      shoal_test_properties(${name}.${layer} ${name} ${arg_TIMEOUT})
      shoal_in_check(${name} TESTS ${name}.${layer} PROGRAMS ${first})
    endif()
  endforeach()
  shoal_test_program(${program} support/joined_main.cpp ${libraries})
  target_sources(${program} PRIVATE support/heap_meter.cpp ${sources})
  # Templates and headers take most of the compiler's time. Larger units take 1 GB and 40 s.
  shoal_join_later(${program} 90000)
endfunction()
