# The program shoal-top.

set(sources "${PROJECT_SOURCE_DIR}/src/top/program")
add_executable(shoal-top "${sources}/main.cpp" "${sources}/terminal.cpp")
shoal_target_defaults(shoal-top)
target_include_directories(shoal-top PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(shoal-top PRIVATE shoal_top CLI11::CLI11)
shoal_build_if_needed(shoal-top)
