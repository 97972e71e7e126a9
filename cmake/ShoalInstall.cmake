# install() and export: find_package(shoal CONFIG) gives the same shoal:: targets as
# add_subdirectory does.

include(CMakePackageConfigHelpers)

get_property(shoal_install_targets GLOBAL PROPERTY SHOAL_INSTALL_TARGETS)
set(shoal_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/shoal")

install(
  TARGETS ${shoal_install_targets}
  EXPORT shoalTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
get_property(shoal_install_plugins GLOBAL PROPERTY SHOAL_INSTALL_PLUGINS)
if(shoal_install_plugins)
  install(TARGETS ${shoal_install_plugins} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
get_property(shoal_install_modules GLOBAL PROPERTY SHOAL_INSTALL_MODULES)
if(shoal_install_modules)
  install(DIRECTORY ${shoal_install_modules}
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/shoal/fortran")
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/shoal" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(PROGRAMS "${PROJECT_SOURCE_DIR}/tools/shoal-bench"
                 "${PROJECT_SOURCE_DIR}/tools/shoal-explore"
        DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(TARGETS shoal-trace shoal-top RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(FILES "${PROJECT_SOURCE_DIR}/tools/gdb/shoal_gdb.py"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/shoal/gdb")
# It looks for the library from there.
install(FILES "${PROJECT_SOURCE_DIR}/src/python/edat.py"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/shoal/python")
install(
  EXPORT shoalTargets
  NAMESPACE shoal::
  DESTINATION "${shoal_cmake_dir}")

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/shoalConfig.cmake.in" shoalConfig.cmake
                              INSTALL_DESTINATION "${shoal_cmake_dir}")
write_basic_package_version_file(shoalConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES "${CMAKE_CURRENT_BINARY_DIR}/shoalConfig.cmake"
        "${CMAKE_CURRENT_BINARY_DIR}/shoalConfigVersion.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/ShoalBuildType.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/ShoalFind.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/ShoalFindMpi.cmake"
  DESTINATION "${shoal_cmake_dir}")

include(ShoalPkgConfig)
