# The program shoal-trace. OTF2 is optional: without its library, that converter says so.

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
