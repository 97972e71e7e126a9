# shoal_cli: the options of applications and benchmarks.

include_guard(GLOBAL)

add_library(shoal_cli STATIC "${CMAKE_CURRENT_LIST_DIR}/command_line.cpp"
                             "${CMAKE_CURRENT_LIST_DIR}/output.cpp")
shoal_target_defaults(shoal_cli)
target_compile_options(shoal_cli PRIVATE ${SHOAL_TOOL_OPTIONS})
shoal_common_options(shoal_cli PRIVATE)
shoal_build_if_needed(shoal_cli)
target_include_directories(shoal_cli PUBLIC "${PROJECT_SOURCE_DIR}/apps")
target_link_libraries(shoal_cli PRIVATE CLI11::CLI11 fmt::fmt)
