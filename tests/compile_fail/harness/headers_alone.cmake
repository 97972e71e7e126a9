# cmake -DCOMPILER=... -DINCLUDES=... -DFOLDER=<include> -DSCRATCH=<folder> -P headers_alone.cmake
# Succeeds when each header that programs are told to include compiles alone: shoal/*.hpp and the
# headers that these include. (<shoal/mpi.hpp> needs mpi.h: a test of mpi includes it first.)
# COMPILER may begin with a compiler cache, which keeps objects and no checks of syntax.

list(TRANSFORM INCLUDES PREPEND -I)
list(REMOVE_ITEM COMPILER "")
set(command ${COMPILER} -std=c++20 -c ${INCLUDES} -I "${SCRATCH}")

# Appends to `refused`, of the caller, those of two headers that do not compile alone. The compiler
# works on both at the same time.
macro(check_pair first second)
  file(WRITE "${SCRATCH}/alone_0.cpp" "#include <${first}>\n")
  file(WRITE "${SCRATCH}/alone_1.cpp" "#include <${second}>\n")
  execute_process(
    COMMAND ${command} "${SCRATCH}/alone_0.cpp" -o "${SCRATCH}/alone_0.o"
    COMMAND ${command} "${SCRATCH}/alone_1.cpp" -o "${SCRATCH}/alone_1.o"
    RESULTS_VARIABLE results
    ERROR_VARIABLE errors)
  string(APPEND all_errors "${errors}")
  foreach(header result IN ZIP_LISTS pair results)
    if(NOT result EQUAL 0)
      list(APPEND refused "${header}")
    endif()
  endforeach()
endmacro()

file(GLOB tops RELATIVE "${FOLDER}" "${FOLDER}/shoal/*.hpp")
list(REMOVE_ITEM tops shoal/mpi.hpp)
set(headers ${tops})
foreach(top IN LISTS tops)
  file(STRINGS "${FOLDER}/${top}" lines REGEX "^#include <shoal/")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "shoal/[^>]+" header "${line}")
    list(APPEND headers "${header}")
  endforeach()
endforeach()
list(REMOVE_DUPLICATES headers)
# The first one does not: a test of this test.
file(WRITE "${SCRATCH}/alone_bad.hpp" "inline std::string no_header_for_this();\n")
set(compiled alone_bad.hpp ${headers})
# A header that another one includes before all else is compiled alone at the top of that one.
foreach(header IN LISTS headers)
  file(STRINGS "${FOLDER}/${header}" line REGEX "^([^/#]|#[^p])" LIMIT_COUNT 1) # no pragma
  if(line MATCHES "^#include <(shoal/[^>]+)>")
    list(REMOVE_ITEM compiled "${CMAKE_MATCH_1}")
  endif()
endforeach()
list(LENGTH headers count)
list(LENGTH compiled compilations)
message("${count} headers, ${compilations} compilations")

set(refused "")
while(compiled)
  list(POP_FRONT compiled first second)
  if(NOT second)
    set(second "${first}")
  endif()
  set(pair "${first}" "${second}")
  check_pair("${first}" "${second}")
endwhile()
if(NOT refused STREQUAL "alone_bad.hpp")
  message(FATAL_ERROR "These do not compile alone: ${refused}\n${all_errors}")
endif()
