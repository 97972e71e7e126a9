# Tests of the benchmarks.

# shoal_add_wrong_broadcast(<name> <from> <to>)
# flow_broadcast with a planted error, in which the text <from> became <to>, must say so.
function(shoal_add_wrong_broadcast name from to)
  set(program wrong_broadcast_${name})
  shoal_planted_bug(${program} "${PROJECT_SOURCE_DIR}/bench/flow_broadcast.cpp" "${from}" "${to}"
                    flow_broadcast_parts copy)
  shoal_test_program(${program} "${copy}" shoal::shoal)
  target_include_directories(${program} PRIVATE "${PROJECT_SOURCE_DIR}/bench")
  foreach(bytes IN ITEMS 8 300000)
    add_test(NAME bench.${program}.${bytes}
             COMMAND "${CMAKE_COMMAND}"
                     "-DCOMMAND=$<TARGET_FILE:${program}>;--ranks;4;--bytes;${bytes}"
                     -DREAD_OUTPUT=ON -DPATTERN=WRONG -DTIMES=1 -DCODE=1 -P
                     "${PROJECT_SOURCE_DIR}/apps/expect_error.cmake")
    shoal_test_properties(bench.${program}.${bytes} bench 60)
  endforeach()
endfunction()

# Tests tools/shoal-bench with scripts for programs, every case of the benchmarks in its short form,
# and the instruction budgets.
function(shoal_add_bench_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TIMEOUT" "")
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
  shoal_add_wrong_broadcast(lost
                            "others_.emplace_back(rank)"
                            "if (rank != 2) others_.emplace_back(rank)")
  shoal_add_wrong_broadcast(value "std::ranges::fill(value_, mark_)" "value_.back() = mark_")
  add_test(NAME bench.budgets COMMAND "${bench}" --build "${PROJECT_BINARY_DIR}" --budgets)
  shoal_test_properties(bench.budgets bench ${arg_TIMEOUT} COST 100)
endfunction()
