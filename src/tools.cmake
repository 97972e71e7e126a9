# The programs shoal-trace and shoal-top.

# --- shoal-trace. OTF2 is optional: without its library, that converter says so.

# The files of the report's page become strings of the program. uplot/ is the package uplot 1.6.32
# of npm (dist/ and its license), unchanged.
set(page "${PROJECT_SOURCE_DIR}/src/trace_tool/page")
foreach(part IN ITEMS html=report.html style=report.css script=report.js
                      chart_style=uplot/uPlot.min.css chart_script=uplot/uPlot.iife.min.js
                      license=uplot/LICENSE)
  string(REGEX MATCH "(.*)=(.*)" part "${part}")
  set(name "${CMAKE_MATCH_1}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${page}/${CMAKE_MATCH_2}")
  file(READ "${page}/${CMAKE_MATCH_2}" ${name})
endforeach()
configure_file("${page}/page.cpp.in" trace_page.cpp @ONLY)
target_sources(shoal_trace_tool PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/trace_page.cpp")

find_path(SHOAL_OTF2_INCLUDE_DIR otf2/otf2.h)
find_library(SHOAL_OTF2_LIBRARY otf2)

set(sources "${PROJECT_SOURCE_DIR}/src/trace_tool/program")
if(SHOAL_OTF2_INCLUDE_DIR AND SHOAL_OTF2_LIBRARY)
  add_executable(shoal-trace "${sources}/main.cpp" "${sources}/otf2.cpp")
  target_include_directories(shoal-trace SYSTEM PRIVATE "${SHOAL_OTF2_INCLUDE_DIR}")
  target_link_libraries(shoal-trace PRIVATE "${SHOAL_OTF2_LIBRARY}")
else()
  message(STATUS "shoal: shoal-trace is built without OTF2 (Debian: libotf2-trace-dev)")
  add_executable(shoal-trace "${sources}/main.cpp" "${sources}/otf2_none.cpp")
endif()
shoal_target_defaults(shoal-trace)
target_include_directories(shoal-trace PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(shoal-trace PRIVATE shoal_trace_tool CLI11::CLI11
                                          nlohmann_json::nlohmann_json)
shoal_build_if_needed(shoal-trace)

# --- shoal-top

set(sources "${PROJECT_SOURCE_DIR}/src/top/program")
add_executable(shoal-top "${sources}/main.cpp" "${sources}/terminal.cpp")
shoal_target_defaults(shoal-top)
target_include_directories(shoal-top PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(shoal-top PRIVATE shoal_top CLI11::CLI11)
shoal_build_if_needed(shoal-top)
