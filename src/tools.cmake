# The programs shoal-trace and shoal-top, and manual pages.

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")

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
add_executable(shoal-top "${sources}/main.cpp")
shoal_target_defaults(shoal-top)
target_include_directories(shoal-top PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(shoal-top PRIVATE shoal_core CLI11::CLI11)
shoal_build_if_needed(shoal-top)

# --- manual pages, of what --help prints (Debian: help2man)

# shoal_manual_page(<name> <what it does> <command> <file that it is made of>)
function(shoal_manual_page name title command made_of)
  set(page "${CMAKE_CURRENT_BINARY_DIR}/man/${name}.1")
  file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/man") # Make does not, unlike Ninja
  add_custom_command(
    OUTPUT "${page}"
    COMMAND "${SHOAL_HELP2MAN}" --no-info --version-string ${PROJECT_VERSION} --name "${title}"
            --output "${page}" "${command}"
    DEPENDS "${made_of}"
    VERBATIM)
  set_property(GLOBAL APPEND PROPERTY SHOAL_MANUAL_PAGES "${page}")
endfunction()

find_program(SHOAL_HELP2MAN help2man)
if(SHOAL_HELP2MAN AND SHOAL_INSTALL)
  set(trace $<TARGET_FILE:shoal-trace>)
  shoal_manual_page(shoal-trace "reads traces of shoal programs" ${trace} shoal-trace)
  foreach(part IN ITEMS check summary why convert diff report merge)
    shoal_manual_page(shoal-trace-${part} "see shoal-trace(1)" "${trace} ${part}" shoal-trace)
  endforeach()
  shoal_manual_page(shoal-top "shows what the ranks of running shoal programs do"
                    $<TARGET_FILE:shoal-top> shoal-top)
  set(explore "${PROJECT_SOURCE_DIR}/tools/shoal-explore")
  shoal_manual_page(shoal-explore "runs a shoal program in the simulator with many seeds"
                    "${explore}" "${explore}")
  get_property(pages GLOBAL PROPERTY SHOAL_MANUAL_PAGES)
  add_custom_target(shoal_manual_pages ALL DEPENDS ${pages})
endif()
