# cmake -DCOMPILER=... -DINCLUDES=... -DSCRATCH=<folder> -DLINES_MAX=<n> -P umbrella_lines.cmake
# Warns when <shoal/shoal.hpp> has, preprocessed, more than LINES_MAX lines beyond the headers of
# the standard library that it cannot do without; blank lines, which comments leave, do not count. A
# program pays for these lines in each of its files: <functional>, <algorithm> and <fmt/format.h>
# alone would each add thousands.

list(TRANSFORM INCLUDES PREPEND -I)
function(count_lines result name)
  set(text "")
  foreach(header IN LISTS ARGN)
    string(APPEND text "#include <${header}>\n")
  endforeach()
  file(WRITE "${SCRATCH}/${name}.cpp" "${text}")
  execute_process(
    COMMAND "${COMPILER}" -std=c++20 -E -P ${INCLUDES} "${SCRATCH}/${name}.cpp"
    OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "\n[ \n]*\n" "\n" output "${output}")
  string(LENGTH "${output}" before)
  string(REPLACE "\n" "" output "${output}")
  string(LENGTH "${output}" after)
  math(EXPR lines "${before} - ${after}")
  set(${result} ${lines} PARENT_SCOPE)
endfunction()

count_lines(needed standard memory string vector tuple optional span array stdexcept atomic)
count_lines(all umbrella shoal/shoal.hpp)
math(EXPR own "${all} - ${needed}")
message("<shoal/shoal.hpp>: ${all} lines, ${own} beyond the ${needed} of the standard headers")
if(own GREATER LINES_MAX)
  message("(warning: more than ${LINES_MAX}: can it include less?)")
endif()
