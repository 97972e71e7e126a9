# The library of this package as shoal::shoal, for extension modules in C++ (docs/python.md).
# Programs cannot link it: shoal has to be installed for them.

cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH shoal_package)
file(GLOB shoal_library "${shoal_package}/_core.*.so")
if(NOT TARGET shoal::shoal)
  add_library(shoal::shoal SHARED IMPORTED)
  set_target_properties(
    shoal::shoal
    PROPERTIES IMPORTED_LOCATION "${shoal_library}"
               INTERFACE_INCLUDE_DIRECTORIES "${shoal_package}/include"
               INTERFACE_COMPILE_DEFINITIONS SHOAL_SHARED)
  target_compile_features(shoal::shoal INTERFACE cxx_std_20)
endif()
