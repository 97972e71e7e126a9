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

shoal_pch(
  shoal_test_pch
  OPTIONS ${SHOAL_TEST_OPTIONS}
  LINK shoal_runtime GTest::gmock
  HEADERS <algorithm> <chrono> <functional> <map> <random> <set> <thread>
          <gmock/gmock.h> <gtest/gtest.h> <shoal/event.hpp> <shoal/shoal.hpp>)

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
  target_link_libraries(${target} PRIVATE ${ARGN} GTest::gtest) # the PCH includes it
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

# Large programs that tests of several kinds run, compiled once.
set(support "${PROJECT_SOURCE_DIR}/tests/support")
add_library(
  test_programs STATIC EXCLUDE_FROM_ALL
  "${support}/flow_program.cpp" "${support}/memory_battery.cpp" "${support}/memory_program.cpp"
  "${support}/random_collectives.cpp")
shoal_test_defaults(test_programs shoal_object shoal_runtime)

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
  if(label MATCHES "^(tidy|install|cluster|docs|property)$")
    set_tests_properties(${test} PROPERTIES COST 100)
  endif()
endfunction()

# Sets `out` to a command that runs the one given and, unless `pattern` is empty, also requires that
# lines of its output match that.
function(shoal_expecting pattern out)
  set(command ${ARGN})
  if(pattern)
    list(JOIN command " " text)
    set(command "${CMAKE_COMMAND}" "-DPATTERN=${pattern}" "-DCOMMANDS=${text}" -P
                "${PROJECT_SOURCE_DIR}/tests/apps/compare_lines.cmake")
  endif()
  set(${out} ${command} PARENT_SCOPE)
endfunction()

# Sets `out` to the libraries of a file of tests by its name: files named apps_* also link what the
# applications share, those named apps_<app>_* that application, bench_<group>_* that group, and
# those named edat_api_*, contention_* or trace_* that layer. Empty: they are not built.
function(shoal_gtest_libraries name out)
  set(libraries test_programs shoal::shoal GTest::gmock)
  if(name MATCHES "^(edat_api|contention|trace)_")
    list(PREPEND libraries shoal_${CMAKE_MATCH_1})
    if(name MATCHES "^trace_")
      list(PREPEND libraries shoal_c_api shoal_trace_tool) # of the former, traces of C
    endif()
  elseif(name MATCHES "^bench_([^_]+)_")
    if(TARGET bench_${CMAKE_MATCH_1})
      list(PREPEND libraries bench_${CMAKE_MATCH_1})
    else()
      set(libraries "")
    endif()
  elseif(name MATCHES "^apps_([^_]+)_")
    set(app ${CMAKE_MATCH_1})
    if(app STREQUAL "sparse")
      set(app sparse_solve)
    elseif(app STREQUAL "barnes")
      set(app barnes_hut)
    endif()
    if(TARGET shoal_app_${app})
      list(PREPEND libraries shoal_app_${app} shoal_apps_common)
    elseif(TARGET shoal_apps_common AND NOT SHOAL_APPS)
      list(PREPEND libraries shoal_apps_common)
    else()
      set(libraries "") # only those of the applications that were chosen
    endif()
  endif()
  set(${out} ${libraries} PARENT_SCOPE)
endfunction()

# shoal_join_sources(<program> <regex> <source>...)
# Adds sources to a program of tests, up to 8 whose names match the regex alike as one translation
# unit: templates and what every file includes take most of the compiler's time. Sources whose
# names belong to namespaces of others, or that say so ("Compiled alone"), are compiled alone.
function(shoal_join_sources program part_of_name)
  set(parts "")
  foreach(source IN LISTS ARGN)
    file(STRINGS "${source}" global REGEX
         "^(template <>|namespace (shoal|std)|// Compiled alone)")
    file(STRINGS "${source}" main REGEX "^int main\\(")
    cmake_path(GET source STEM name)
    if(global AND NOT main)
      target_sources(${program} PRIVATE "${source}")
      continue()
    endif()
    string(REGEX MATCH "${part_of_name}" part "${name}_tests")
    if(global)
      set(part ${name})
    endif()
    list(APPEND parts ${part})
    list(APPEND sources_${part} "${source}")
  endforeach()
  list(REMOVE_DUPLICATES parts)
  set(script "${PROJECT_SOURCE_DIR}/cmake/join_sources")
  foreach(part IN LISTS parts)
    set(number 0)
    while(sources_${part})
      list(SUBLIST sources_${part} 0 8 some)
      list(REMOVE_ITEM sources_${part} ${some})
      math(EXPR number "${number} + 1")
      set(joined "${CMAKE_CURRENT_BINARY_DIR}/${program}_${part}_${number}.cpp")
      add_custom_command(
        OUTPUT "${joined}"
        COMMAND Python3::Interpreter "${script}" "${joined}" ${some}
        DEPENDS "${script}" ${some}
        VERBATIM)
      target_sources(${program} PRIVATE "${joined}")
    endwhile()
  endforeach()
endfunction()

# Every tests/<kind>/*_test.cpp is one ctest test <kind>.<file>. Files that link the same libraries
# are one program, <kind>_tests or <kind>_tests_<library>, whose first argument names the file to
# run; a test has a process of its own all the same. The target tests_<kind> builds them all. A file
# that replaces operator new, itself or by a header, is a program alone. The program <kind>_<file>
# of one file alone is built on demand, and known to clang-tidy. ThreadSanitizer would see nothing
# in a file that says "One thread".
function(shoal_add_gtests kind)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "")
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${kind}/*_test.cpp")
  set(programs "")
  set(own_programs "")
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    shoal_gtest_libraries(${name} libraries)
    file(STRINGS "${source}" one_thread REGEX "^// One thread: ")
    if(NOT libraries OR (one_thread AND SHOAL_SANITIZE MATCHES "thread"))
      continue()
    endif()
    set(label ${kind})
    file(STRINGS "${source}" plain REGEX "HeapMeter::counts|kSanitized|SHOAL_ASAN")
    if(plain AND NOT SHOAL_SANITIZE AND kind IN_LIST SHOAL_TESTS_ON_DEMAND)
      set(label plain)
    endif()
    set(alone ${kind}_${name})
    shoal_test_program(${alone} "${source}" ${libraries} GTest::gtest_main)
    file(STRINGS "${source}" own REGEX "/heap_meter.hpp|/flood.hpp|operator new")
    if(kind STREQUAL "model") # they do nothing but compute
      set_target_properties(${alone} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
      target_compile_options(${alone} PRIVATE -O2)
      set(own ON)
    endif()
    if(own)
      set(command $<TARGET_FILE:${alone}>)
      list(APPEND own_programs ${alone})
      if(label STREQUAL "plain")
        set_target_properties(${alone} PROPERTIES EXCLUDE_FROM_ALL OFF)
      endif()
    else()
      set_target_properties(${alone} PROPERTIES EXCLUDE_FROM_ALL ON)
      list(GET libraries 0 first)
      set(program ${label}_tests)
      if(NOT first STREQUAL "test_programs")
        string(REGEX REPLACE "^shoal_" "" suffix "${first}")
        string(APPEND program _${suffix})
      endif()
      list(APPEND programs ${program})
      list(APPEND sources_${program} "${source}")
      set(libraries_${program} ${libraries})
      set(command $<TARGET_FILE:${program}> ${name})
    endif()
    add_test(NAME ${kind}.${name} COMMAND ${SHOAL_TEST_LAUNCHER} ${command} --gtest_brief=1)
    shoal_test_properties(${kind}.${name} ${label} ${arg_TIMEOUT})
    if(label STREQUAL kind)
      shoal_in_check(${kind} TESTS ${kind}.${name})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES programs)
  add_custom_target(tests_${kind} DEPENDS ${programs} ${own_programs})
  shoal_in_check(${kind} PROGRAMS tests_${kind})
  foreach(program IN LISTS programs)
    shoal_test_program(${program} "${PROJECT_SOURCE_DIR}/tests/support/joined_main.cpp"
                       ${libraries_${program}})
    shoal_join_sources(${program} "^[^_]+" ${sources_${program}})
  endforeach()
endfunction()
