# Functions that turn the files of tests/ into ctest tests.

include(ShoalInstallTesting)

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

# The compiler's time is most of a check. The libraries under test keep the flags of the build type.
set(SHOAL_TEST_OPTIONS ${SHOAL_PROGRAM_OPTIONS})
if(NOT SHOAL_TEST_OPTIONS)
  set(SHOAL_TEST_OPTIONS -O1 -g1)
endif()

# The compiler cache of the builds that tests start.
set(SHOAL_TEST_CCACHE "${SHOAL_CCACHE}")
if(NOT SHOAL_CCACHE)
  set(SHOAL_TEST_CCACHE "")
endif()

shoal_pch(
  shoal_test_pch
  OPTIONS ${SHOAL_TEST_OPTIONS}
  LINK shoal_runtime GTest::gtest
  HEADERS <gtest/gtest.h> <shoal/shoal.hpp>)

# What the launchers need to start more processes than processors, as root too. Containers often
# forbid the system call behind vader's single copy.
set(SHOAL_MPI_ENVIRONMENT
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    OMPI_MCA_btl_vader_single_copy_mechanism=none)

# A program of the tests; it may also use the private headers of src/ and of apps/.
function(shoal_test_program target source)
  add_executable(${target} "${source}")
  shoal_target_defaults(${target})
  target_compile_options(${target} PRIVATE ${SHOAL_TEST_OPTIONS})
  shoal_use_pch(${target} shoal_test_pch)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src"
                                               "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${target} PRIVATE ${ARGN} GTest::gtest) # the PCH includes it
  # The sanitizers' presets run none of these (CMakePresets.json); clang-tidy reads them.
  if((SHOAL_SANITIZE AND target MATCHES "^mpi_") OR (SHOAL_SANITIZE MATCHES "thread"
                                                     AND target MATCHES "^model_"))
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# Label and time limit (stretched by sanitizers) of a test; then further properties with values.
function(shoal_test_properties test label timeout)
  math(EXPR timeout "${timeout} * ${SHOAL_TEST_TIMEOUT_SCALE}")
  set_tests_properties(${test} PROPERTIES LABELS ${label} TIMEOUT ${timeout} ${ARGN})
  if(label MATCHES "^(tidy|install|cluster)$") # long ones begin first, so that none is left alone
    set_tests_properties(${test} PROPERTIES COST 100)
  endif()
endfunction()

# Every tests/<kind>/*_test.cpp is one GoogleTest program and one ctest test <kind>.<file>. Files
# named apps_* also link what the applications share, those named apps_<app>_* that application, and
# those named edat_api_*, contention_* or trace_* that layer.
function(shoal_add_gtests kind)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "")
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${kind}/*_test.cpp")
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    set(libraries shoal::shoal GTest::gmock GTest::gtest_main)
    if(name MATCHES "^(edat_api|contention|trace)_")
      list(PREPEND libraries shoal_${CMAKE_MATCH_1})
      if(name MATCHES "^trace_")
        list(PREPEND libraries shoal_c_api shoal_trace_tool) # of the former, traces of C
      endif()
    elseif(name MATCHES "^bench_([^_]+)_")
      if(NOT TARGET bench_${CMAKE_MATCH_1})
        continue()
      endif()
      list(PREPEND libraries bench_${CMAKE_MATCH_1})
    elseif(name MATCHES "^apps_")
      if(NOT TARGET shoal_apps_common)
        continue()
      endif()
      list(PREPEND libraries shoal_apps_common)
      string(REGEX REPLACE "^apps_([^_]+)_.*" "\\1" app "${name}")
      if(TARGET shoal_app_${app})
        list(PREPEND libraries shoal_app_${app})
      elseif(SHOAL_APPS)
        continue() # only those of the applications that were chosen
      endif()
    endif()
    shoal_test_program(${kind}_${name} "${source}" ${libraries})
    if(kind STREQUAL "model") # they do nothing but compute
      set_target_properties(${kind}_${name} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
      target_compile_options(${kind}_${name} PRIVATE -O2)
    endif()
    add_test(NAME ${kind}.${name} COMMAND ${SHOAL_TEST_LAUNCHER} $<TARGET_FILE:${kind}_${name}>
                                          --gtest_brief=1)
    shoal_test_properties(${kind}.${name} ${kind} ${arg_TIMEOUT})
  endforeach()
endfunction()

# Every world of tests/model/check_completion, which knows what must come of it.
function(shoal_add_completion_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TIMEOUT" "")
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(check "${PROJECT_SOURCE_DIR}/tests/model/check_completion")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${check}")
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" "${check}" --list
    OUTPUT_VARIABLE worlds
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" worlds "${worlds}")
  foreach(world IN LISTS worlds)
    add_test(NAME model.completion.${world}
             COMMAND Python3::Interpreter "${check}" ${world} --scratch
                     "${CMAKE_CURRENT_BINARY_DIR}/model_completion/${world}")
    shoal_test_properties(model.completion.${world} model ${arg_TIMEOUT})
  endforeach()
endfunction()

# Sets `out` to the launcher of an MPI variant with its options, ready for the program.
function(shoal_mpi_launcher variant processes out)
  if(variant STREQUAL "openmpi")
    find_program(SHOAL_MPIRUN_OPENMPI NAMES mpirun.openmpi orterun)
    set(command "${SHOAL_MPIRUN_OPENMPI}" --oversubscribe --allow-run-as-root --bind-to none -n)
  elseif(variant STREQUAL "mpich")
    find_program(SHOAL_MPIRUN_MPICH NAMES mpirun.mpich mpiexec.hydra)
    set(command "${SHOAL_MPIRUN_MPICH}" -n)
  else()
    set(command "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_PREFLAGS} ${MPIEXEC_NUMPROC_FLAG})
  endif()
  list(GET command 0 program)
  if(NOT program)
    message(FATAL_ERROR "No mpirun for ${variant}: its tests cannot run. Install it (tools/setup "
                        "does), or leave ${variant} out of SHOAL_MPI.")
  endif()
  set(${out} ${command} ${processes} PARENT_SCOPE)
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

# shoal_add_mpi_test(<test> VARIANT <v> PROCESSES <n> TIMEOUT <s> [PATTERN <regex>]
#                    COMMAND <program> [<argument>...])
# One launch of a program under the launcher of its MPI.
function(shoal_add_mpi_test test)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "VARIANT;PROCESSES;TIMEOUT;PATTERN" "COMMAND")
  shoal_mpi_launcher(${arg_VARIANT} ${arg_PROCESSES} launcher)
  shoal_expecting("${arg_PATTERN}" command ${launcher} ${arg_COMMAND})
  add_test(NAME ${test} COMMAND ${command})
  shoal_test_properties(${test} mpi ${arg_TIMEOUT} PROCESSORS 2)
  set_tests_properties(${test} PROPERTIES ENVIRONMENT "${SHOAL_MPI_ENVIRONMENT}")
endfunction()

# Every tests/mpi/*_test.cpp is a program with its own main (0 = passed), built for each MPI and run
# on each number of processes as mpi.<variant>.<name>.np<processes>; for 4/2, on 4 of which 2 at
# most share memory, as ..._near2, but for those that take long or send little.
function(shoal_add_mpi_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TIMEOUT" "PROCESSES")
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/mpi/*_test.cpp")
  foreach(variant IN LISTS SHOAL_MPI_VARIANTS)
    foreach(source IN LISTS sources)
      cmake_path(GET source STEM name)
      set(program mpi_${variant}_${name})
      shoal_test_program(${program} "${source}" shoal::shoal_${variant})
      foreach(entry IN LISTS arg_PROCESSES)
        string(REGEX MATCH "^([0-9]+)(/([0-9]+))?$" matched "${entry}")
        set(processes ${CMAKE_MATCH_1})
        set(near ${CMAKE_MATCH_3})
        set(test mpi.${variant}.${name}.np${processes})
        if(near)
          if(name MATCHES "_(stall|huge_message|init|launch|single|funneled)_test$")
            continue()
          endif()
          string(APPEND test _near${near})
        endif()
        shoal_add_mpi_test(
          ${test}
          VARIANT ${variant}
          PROCESSES ${processes}
          TIMEOUT ${arg_TIMEOUT}
          COMMAND $<TARGET_FILE:${program}>)
        if(name MATCHES "_stall_test$") # waits more than it computes
          set_tests_properties(${test} PROPERTIES PROCESSORS 1)
        endif()
        if(near)
          set_tests_properties(${test} PROPERTIES ENVIRONMENT_MODIFICATION
                                                  SHOAL_NODE_PROCESSES=set:${near})
        endif()
      endforeach()
    endforeach()
  endforeach()
endfunction()

# The commands for gdb, on a program with parked tasks.
function(shoal_add_gdb_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TIMEOUT" "")
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  find_program(SHOAL_GDB gdb)
  if(NOT SHOAL_GDB)
    message(STATUS "shoal: no test of the commands for gdb: there is no gdb (tools/setup check "
                   "installs it)")
    return()
  endif()
  shoal_test_program(gdb_parked_tasks "${PROJECT_SOURCE_DIR}/tests/gdb/parked_tasks.cpp"
                     shoal::shoal_none)
  target_compile_options(gdb_parked_tasks PRIVATE -g)
  add_test(NAME gdb.parked_tasks
           COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/gdb/gdb_test.py" "${SHOAL_GDB}"
                   "${PROJECT_SOURCE_DIR}/tools/gdb/shoal_gdb.py" $<TARGET_FILE:gdb_parked_tasks>
                   "${CMAKE_CURRENT_BINARY_DIR}/gdb")
  shoal_test_properties(gdb.parked_tasks unit ${arg_TIMEOUT} SKIP_RETURN_CODE 77)
endfunction()

# shoal_add_app_run(<name> [PATTERN <regex>] [LABEL <l>] [TIMEOUT <s>]
#                   COMMAND <target> [<argument>...])
# Runs an application, embedded or simulated.
function(shoal_add_app_run name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PATTERN;LABEL;TIMEOUT" "COMMAND")
  list(POP_FRONT arg_COMMAND app)
  if(NOT TARGET ${app})
    return()
  endif()
  if(NOT arg_LABEL)
    set(arg_LABEL apps)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  shoal_expecting("${arg_PATTERN}" command ${SHOAL_TEST_LAUNCHER} $<TARGET_FILE:${app}>
                  ${arg_COMMAND})
  add_test(NAME apps.${name} COMMAND ${command})
  shoal_test_properties(apps.${name} ${arg_LABEL} ${arg_TIMEOUT} PROCESSORS 2)
endfunction()

# The script, given the application.
function(shoal_add_app_script name script app)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  add_test(NAME apps.${name} COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/${script}"
                                     $<TARGET_FILE:${app}>)
  shoal_test_properties(apps.${name} apps 120 PROCESSORS 2)
endfunction()

# shoal_add_app_test(<name> APP <app> TIMEOUT <s> [PATTERN <regex>] [LABEL <l>] [RANKS <n>...]
#                    [PROCESSES <n>...] ARGS <argument>...)
# Runs an application, which verifies its result: embedded, by default on 1 and 4 ranks, and on the
# processes of each MPI, by default 2 and 4. PATTERN: what it must also print. LABEL: of the
# embedded runs; those labelled apps_small also run under the sanitizers.
function(shoal_add_app_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "APP;TIMEOUT;PATTERN;LABEL" "RANKS;PROCESSES;ARGS")
  if(NOT TARGET ${arg_APP})
    return()
  endif()
  if(NOT arg_RANKS)
    set(arg_RANKS 1 4)
  endif()
  if(NOT arg_PROCESSES)
    set(arg_PROCESSES 2 4)
  endif()
  foreach(ranks IN LISTS arg_RANKS)
    shoal_add_app_run(
      ${name}.ranks${ranks}
      PATTERN "${arg_PATTERN}"
      LABEL "${arg_LABEL}"
      TIMEOUT ${arg_TIMEOUT}
      COMMAND ${arg_APP} ${arg_ARGS} --ranks ${ranks})
  endforeach()
  foreach(variant IN LISTS SHOAL_MPI_VARIANTS)
    shoal_app_of_variant(${arg_APP} ${variant} program)
    if(program)
      foreach(processes IN LISTS arg_PROCESSES)
        shoal_add_mpi_test(
          apps.${name}.${variant}.np${processes}
          VARIANT ${variant}
          PROCESSES ${processes}
          TIMEOUT ${arg_TIMEOUT}
          PATTERN "${arg_PATTERN}"
          COMMAND $<TARGET_FILE:${program}> ${arg_ARGS})
      endforeach()
    endif()
  endforeach()
endfunction()

# Sets `out` to the target of an application on an MPI variant; empty when it is not built.
function(shoal_app_of_variant app variant out)
  list(FIND SHOAL_MPI_VARIANTS ${variant} index)
  if(index EQUAL 0)
    set(${out} ${app} PARENT_SCOPE)
  elseif(TARGET ${app}_${variant})
    set(${out} ${app}_${variant} PARENT_SCOPE)
  else()
    set(${out} "" PARENT_SCOPE)
  endif()
endfunction()

# shoal_add_same_line_test(<name> APP <app> PATTERN <regex> TIMEOUT <s> ARGS <argument>...)
# The application prints the same line on 1, 2 and 4 ranks, embedded and over each MPI.
function(shoal_add_same_line_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "APP;PATTERN;TIMEOUT" "ARGS")
  if(NOT TARGET ${arg_APP})
    return()
  endif()
  list(JOIN arg_ARGS " " arguments)
  foreach(ranks IN ITEMS 1 2 4)
    list(APPEND commands "$<TARGET_FILE:${arg_APP}> ${arguments} --ranks ${ranks}")
    foreach(variant IN LISTS SHOAL_MPI_VARIANTS)
      shoal_app_of_variant(${arg_APP} ${variant} program)
      if(program)
        shoal_mpi_launcher(${variant} ${ranks} launcher)
        list(JOIN launcher " " launcher)
        list(APPEND commands "${launcher} $<TARGET_FILE:${program}> ${arguments}")
      endif()
    endforeach()
  endforeach()
  list(JOIN commands "|" commands)
  add_test(NAME apps.${name}
           COMMAND "${CMAKE_COMMAND}" "-DPATTERN=${arg_PATTERN}" "-DCOMMANDS=${commands}" -P
                   "${PROJECT_SOURCE_DIR}/tests/apps/compare_lines.cmake")
  shoal_test_properties(apps.${name} apps ${arg_TIMEOUT} PROCESSORS 2)
  set_tests_properties(apps.${name} PROPERTIES ENVIRONMENT "${SHOAL_MPI_ENVIRONMENT}")
endfunction()

# Every program of the tutorial runs on 1 and on 3 ranks and, where it was built with an MPI, in 2
# processes and in 2 with 2 ranks each.
function(shoal_add_tutorial_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TIMEOUT" "")
  get_property(programs GLOBAL PROPERTY SHOAL_TUTORIALS)
  foreach(program IN LISTS programs)
    foreach(ranks IN ITEMS 1 3)
      add_test(NAME apps.${program}.ranks${ranks} COMMAND ${program} --ranks ${ranks} --workers 2)
      shoal_test_properties(apps.${program}.ranks${ranks} apps ${arg_TIMEOUT})
    endforeach()
    if(SHOAL_MPI_VARIANTS)
      list(GET SHOAL_MPI_VARIANTS 0 variant)
      foreach(ranks IN ITEMS 1 2)
        shoal_add_mpi_test(
          apps.${program}.${variant}.np2x${ranks}
          VARIANT ${variant}
          PROCESSES 2
          TIMEOUT ${arg_TIMEOUT}
          COMMAND $<TARGET_FILE:${program}> --workers 2 --ranks-per-process ${ranks})
      endforeach()
    endif()
  endforeach()
endfunction()

# Every application and program of the tutorial in virtual time, twice.
function(shoal_add_simulation_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TIMEOUT" "")
  get_property(programs GLOBAL PROPERTY SHOAL_TUTORIALS)
  foreach(program IN LISTS programs ITEMS cholesky gemm2d gemm3d bfs)
    if(NOT TARGET ${program})
      continue()
    endif()
    set(arguments)
    if(program STREQUAL "bfs")
      set(arguments --scale 6 --roots 4)
    elseif(NOT program IN_LIST programs)
      set(arguments --n 120 --tile 20)
    endif()
    foreach(order IN ITEMS time uniform priorities late)
      add_test(NAME sim.${program}.${order}
               COMMAND ${SHOAL_TEST_LAUNCHER} $<TARGET_FILE:${program}> --sim-check --ranks 8
                       --workers 2 --sim-order ${order} ${arguments})
      shoal_test_properties(sim.${program}.${order} sim ${arg_TIMEOUT})
      set_tests_properties(sim.${program}.${order} PROPERTIES ENVIRONMENT OPENBLAS_NUM_THREADS=1)
    endforeach()
  endforeach()
endfunction()

set(SHOAL_MUTANT_OPTIONS --ranks 7 --workers 3 --packet-bytes 512 --window-bytes 2048)

# shoal_add_mutant(<name> <file of src/> <from> <to> [PROGRAM <name>]): a planted bug. The program
# of tests/explore/, random_program by default, gets a copy of that file in which the text <from>,
# which must stand in it once, became <to>; shoal-explore must find that.
function(shoal_add_mutant name file from to)
  cmake_parse_arguments(PARSE_ARGV 4 arg "" "PROGRAM" "")
  if(NOT arg_PROGRAM)
    set(arg_PROGRAM random_program)
  endif()
  set(source "${PROJECT_SOURCE_DIR}/src/${file}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
  file(READ "${source}" text)
  string(REPLACE "${from}" "${to}" mutated "${text}")
  string(REPLACE "${from}" "" without "${text}")
  string(LENGTH "${from}" length)
  string(LENGTH "${text}" before)
  string(LENGTH "${without}" after)
  math(EXPR removed "${before} - ${after}")
  if(NOT removed EQUAL length)
    message(FATAL_ERROR "Mutant ${name}: its text must stand in src/${file} once: ${from}")
  endif()
  set(copy "${CMAKE_CURRENT_BINARY_DIR}/mutant_${name}.cpp")
  file(CONFIGURE OUTPUT "${copy}" CONTENT "${mutated}" @ONLY)
  # The linker takes what the program defines itself, not the library's.
  shoal_test_program(mutant_${name} "${PROJECT_SOURCE_DIR}/tests/explore/${arg_PROGRAM}.cpp"
                     shoal::shoal)
  target_sources(mutant_${name} PRIVATE "${copy}")
  add_test(NAME explore.mutant_${name}
           COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/explore/mutant_test.py"
                   "${PROJECT_SOURCE_DIR}/tools/shoal-explore" $<TARGET_FILE:mutant_${name}>
                   ${SHOAL_MUTANT_OPTIONS})
  shoal_test_properties(explore.mutant_${name} explore 120 PROCESSORS 2)
endfunction()

# Hundreds of seeds of every application, program of the tutorial and random program, in all orders
# and with faults that must not change any result.
function(shoal_add_explore_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SEEDS;TIMEOUT" "")
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  get_property(programs GLOBAL PROPERTY SHOAL_TUTORIALS)
  set(faults "delay:p=0.05,by=100us;delay:p=0.01,by=5ms;pause:rank=1,at=20us,for=2ms")
  math(EXPR fate_seeds "${arg_SEEDS} / 2") # two programs share what one takes
  foreach(program IN ITEMS random_program random_event_program)
    shoal_test_program(explore_${program} "${PROJECT_SOURCE_DIR}/tests/explore/${program}.cpp"
                       shoal::shoal)
    foreach(fate IN ITEMS --fails --gets-stuck)
      add_test(NAME explore.${program}${fate}
               COMMAND "${PROJECT_SOURCE_DIR}/tools/shoal-explore" --seeds ${fate_seeds} --faults
                       "${faults}" -- $<TARGET_FILE:explore_${program}> --ranks 5 --workers 2
                       ${fate})
      shoal_test_properties(explore.${program}${fate} explore ${arg_TIMEOUT} PROCESSORS 2)
    endforeach()
    # What the mutants are compared with: the same options, and no bug.
    add_test(NAME explore.no_mutant_of_${program}
             COMMAND "${PROJECT_SOURCE_DIR}/tools/shoal-explore" --seeds ${arg_SEEDS} --
                     $<TARGET_FILE:explore_${program}> ${SHOAL_MUTANT_OPTIONS})
    shoal_test_properties(explore.no_mutant_of_${program} explore ${arg_TIMEOUT} PROCESSORS 2)
  endforeach()
  foreach(program IN LISTS programs ITEMS cholesky gemm2d gemm3d bfs explore_random_program
                                          explore_random_event_program)
    if(NOT TARGET ${program})
      continue()
    endif()
    set(arguments --ranks 5 --workers 2)
    if(program STREQUAL "gemm3d")
      set(arguments --ranks 8 --workers 2 --n 40 --tile 10)
    elseif(program STREQUAL "bfs")
      list(APPEND arguments --scale 5 --roots 2)
    elseif(program MATCHES "cholesky|gemm2d")
      list(APPEND arguments --n 40 --tile 10)
    endif()
    add_test(NAME explore.${program}
             COMMAND "${PROJECT_SOURCE_DIR}/tools/shoal-explore" --seeds ${arg_SEEDS} --faults
                     "${faults}" -- $<TARGET_FILE:${program}> ${arguments})
    shoal_test_properties(explore.${program} explore ${arg_TIMEOUT} PROCESSORS 2)
    set_tests_properties(explore.${program} PROPERTIES ENVIRONMENT OPENBLAS_NUM_THREADS=1)
  endforeach()
  add_test(NAME explore.explore
           COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/explore/explore_test.py"
                   "${PROJECT_SOURCE_DIR}/tools/shoal-explore")
  shoal_test_properties(explore.explore explore ${arg_TIMEOUT})
endfunction()

# Programs with and without data races, for --sim-races.
function(shoal_add_race_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TIMEOUT" "")
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  shoal_test_program(explore_races "${PROJECT_SOURCE_DIR}/tests/explore/races.cpp" shoal::shoal)
  add_test(NAME explore.races
           COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/explore/races_test.py"
                   "${PROJECT_SOURCE_DIR}/tools/shoal-explore" $<TARGET_FILE:explore_races>)
  shoal_test_properties(explore.races explore ${arg_TIMEOUT} PROCESSORS 2)
endfunction()

# Every tests/compile_fail/*.cpp begins with `// expect: <regex>`: it must not compile, and the
# compiler's output must match the regex. A last test shows that the harness refuses a file that
# does compile.
function(shoal_add_compile_fail_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TIMEOUT" "")
  set(includes $<TARGET_PROPERTY:shoal_shoal,INTERFACE_INCLUDE_DIRECTORIES>)
  set(folder "${PROJECT_SOURCE_DIR}/tests/compile_fail")
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  foreach(source IN LISTS sources ITEMS "${folder}/harness/compiles.cpp")
    cmake_path(GET source STEM name)
    add_test(
      NAME compile_fail.${name}
      COMMAND
        "${CMAKE_COMMAND}" "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DSOURCE=${source}"
        "-DINCLUDES=$<JOIN:$<REMOVE_DUPLICATES:${includes}>,$<SEMICOLON>>" -P
        "${folder}/harness/expect_failure.cmake")
    shoal_test_properties(compile_fail.${name} compile_fail ${arg_TIMEOUT})
  endforeach()
  set_tests_properties(compile_fail.compiles PROPERTIES PASS_REGULAR_EXPRESSION
                                                        "compiles, but must not")
  add_test(
    NAME compile_fail.umbrella_lines
    COMMAND
      "${CMAKE_COMMAND}" "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DLINES_MAX=15000"
      "-DINCLUDES=$<JOIN:$<REMOVE_DUPLICATES:${includes}>,$<SEMICOLON>>"
      "-DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}" -P "${folder}/harness/umbrella_lines.cmake")
  shoal_test_properties(compile_fail.umbrella_lines compile_fail ${arg_TIMEOUT})
endfunction()

# The rules of tools/, .clang-format and .clang-tidy, and proofs that they refuse what they should.
function(shoal_add_lint_tests)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(lint "${PROJECT_SOURCE_DIR}/tests/lint")
  add_test(NAME lint.layers COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/check_layers")
  add_test(NAME lint.docs COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tools/check_docs")
  add_test(NAME lint.layers_refuse_bad_trees COMMAND Python3::Interpreter
                                                     "${lint}/check_layers_test.py")
  add_test(NAME lint.format COMMAND "${PROJECT_SOURCE_DIR}/tools/lint" format)
  add_test(NAME lint.tidy_refuses_bad_code COMMAND "${PROJECT_SOURCE_DIR}/tools/lint" bad)
  foreach(test IN ITEMS layers docs layers_refuse_bad_trees format tidy_refuses_bad_code)
    shoal_test_properties(lint.${test} lint 120)
  endforeach()
endfunction()

# clang-tidy over the library, with the flags of a build by clang.
function(shoal_add_tidy_test)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_test(NAME tidy.src COMMAND "${PROJECT_SOURCE_DIR}/tools/lint" tidy "${PROJECT_BINARY_DIR}")
    shoal_test_properties(tidy.src tidy 600 PROCESSORS 2)
  endif()
endfunction()

# A program of the tests in C or Fortran, with shoal::<library>.
function(shoal_c_test_program target source library)
  add_executable(${target} "${source}")
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:-Wall>
                                           $<$<BOOL:${SHOAL_WERROR}>:-Werror>)
  set_target_properties(${target} PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
  if(SHOAL_SANITIZE) # the program brings what the sanitizers need, of C++ too
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
  target_link_libraries(${target} PRIVATE shoal::${library})
endfunction()

# shoal_add_output_test(<test> LABEL <l> SOURCE <file> PROCESSES <n> TIMEOUT <s>
#                       COMMAND <command>...)
# The program prints what its source says (tests/edat/run.cmake).
function(shoal_add_output_test test)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;SOURCE;PROCESSES;TIMEOUT" "COMMAND")
  list(JOIN arg_COMMAND "|" command)
  add_test(NAME ${test}
           COMMAND "${CMAKE_COMMAND}" "-DCOMMAND=${command}" "-DSOURCE=${arg_SOURCE}"
                   "-DPROCESSES=${arg_PROCESSES}" -P "${PROJECT_SOURCE_DIR}/tests/edat/run.cmake")
  shoal_test_properties(${test} ${arg_LABEL} ${arg_TIMEOUT})
  if(arg_PROCESSES GREATER 1)
    set_tests_properties(${test} PROPERTIES PROCESSORS 2)
  endif()
  set_tests_properties(${test} PROPERTIES ENVIRONMENT "${SHOAL_MPI_ENVIRONMENT}")
endfunction()

# The C interface, embedded, simulated and over each MPI.
function(shoal_add_c_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TIMEOUT" "")
  foreach(variant IN ITEMS none ${SHOAL_MPI_VARIANTS})
    shoal_c_test_program(c_${variant}_event_calls "${PROJECT_SOURCE_DIR}/tests/c/event_calls.c"
                         c_${variant})
    target_compile_options(c_${variant}_event_calls PRIVATE -Wextra -Wpedantic)
    if(NOT variant STREQUAL "none")
      foreach(processes IN ITEMS 1 2 4)
        shoal_add_mpi_test(
          c.event_calls.${variant}.np${processes}
          VARIANT ${variant}
          PROCESSES ${processes}
          TIMEOUT ${arg_TIMEOUT}
          COMMAND $<TARGET_FILE:c_${variant}_event_calls> mine --workers 2)
      endforeach()
    endif()
  endforeach()
  foreach(options IN ITEMS "--ranks 1 --workers 1" "--ranks 3 --workers 2"
                           "--sim-check --ranks 4 --workers 2 --sim-order uniform")
    string(REGEX REPLACE "[ -]+" "_" name "${options}")
    separate_arguments(options UNIX_COMMAND "${options}")
    add_test(NAME c.event_calls${name} COMMAND ${SHOAL_TEST_LAUNCHER}
                                                $<TARGET_FILE:c_none_event_calls> mine ${options})
    shoal_test_properties(c.event_calls${name} c ${arg_TIMEOUT})
  endforeach()

  shoal_c_test_program(c_none_machine_events "${PROJECT_SOURCE_DIR}/tests/c/machine_events.c"
                       c_none)
  target_compile_options(c_none_machine_events PRIVATE -Wextra -Wpedantic)
  foreach(workers IN ITEMS 1 2)
    add_test(NAME c.machine_events.workers${workers}
             COMMAND ${SHOAL_TEST_LAUNCHER} $<TARGET_FILE:c_none_machine_events> --workers
                     ${workers})
    shoal_test_properties(c.machine_events.workers${workers} c ${arg_TIMEOUT})
  endforeach()

  shoal_c_test_program(c_none_event_failures "${PROJECT_SOURCE_DIR}/tests/c/event_failures.c"
                       c_none)
  foreach(case IN ITEMS task stuck stuck_waiting repaired wait_in_task task_in_the_end
                        repaired_badly)
    foreach(ranks IN ITEMS 1 3)
      set(code 3)
      if(case MATCHES "task_in_the_end|repaired_badly")
        set(code 1)
      endif()
      add_test(NAME c.event_failures.${case}.ranks${ranks}
               COMMAND "${CMAKE_COMMAND}" "-DCODE=${code}"
                       "-DCOMMAND=$<TARGET_FILE:c_none_event_failures>;${case};--ranks;${ranks}"
                       -P "${PROJECT_SOURCE_DIR}/tests/c/expect_code.cmake")
      shoal_test_properties(c.event_failures.${case}.ranks${ranks} c ${arg_TIMEOUT})
    endforeach()
  endforeach()
endfunction()

# Every tests/fortran/*.f90 is a program with the module shoal_events; see shoal_add_edat_tests().
function(shoal_add_fortran_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TIMEOUT" "")
  if(NOT SHOAL_HAS_FORTRAN)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fortran/*.f90")
  foreach(variant IN ITEMS none ${SHOAL_MPI_VARIANTS})
    foreach(source IN LISTS sources)
      cmake_path(GET source STEM name)
      set(program fortran_${variant}_${name})
      shoal_c_test_program(${program} "${source}" fortran_${variant})
      target_compile_options(${program} PRIVATE -std=f2018 -Wall -Wno-unused-dummy-argument)
      set_target_properties(${program} PROPERTIES Fortran_MODULE_DIRECTORY
                                                  "${CMAKE_CURRENT_BINARY_DIR}/${program}.mod")
      foreach(ranks IN ITEMS 1 2 4)
        set(command $<TARGET_FILE:${program}> --workers 2)
        set(label fortran)
        if(variant STREQUAL "none")
          list(APPEND command --ranks ${ranks})
        else()
          shoal_mpi_launcher(${variant} ${ranks} launcher)
          list(PREPEND command ${launcher})
          set(label mpi)
        endif()
        shoal_add_output_test(
          fortran.${name}.${variant}.np${ranks}
          LABEL ${label}
          SOURCE "${source}"
          PROCESSES ${ranks}
          TIMEOUT ${arg_TIMEOUT}
          COMMAND ${command})
      endforeach()
    endforeach()
  endforeach()
endfunction()

# What tools/shoal-bench does with scripts for programs, every case of the benchmarks in its short
# form, and the instruction budgets.
function(shoal_add_bench_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TIMEOUT" "")
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(bench "${PROJECT_SOURCE_DIR}/tools/shoal-bench")
  add_test(NAME bench.bench COMMAND Python3::Interpreter
                                    "${PROJECT_SOURCE_DIR}/tests/bench/bench_test.py" "${bench}")
  shoal_test_properties(bench.bench bench ${arg_TIMEOUT})
  if(NOT TARGET tasks_shoal)
    return()
  endif()
  file(GLOB cases CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/cases/*.json")
  foreach(file IN LISTS cases)
    cmake_path(GET file STEM group)
    add_test(NAME bench.short.${group} COMMAND "${bench}" --build "${PROJECT_BINARY_DIR}" --short
                                               --group ${group} --timeout 120)
    shoal_test_properties(bench.short.${group} bench ${arg_TIMEOUT} PROCESSORS 2)
  endforeach()
  add_test(NAME bench.budgets COMMAND "${bench}" --build "${PROJECT_BINARY_DIR}" --budgets)
  shoal_test_properties(bench.budgets bench ${arg_TIMEOUT})
endfunction()
