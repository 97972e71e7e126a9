# install() and export: find_package(shoal CONFIG) gives the same shoal:: targets as
# add_subdirectory does.

include(CMakePackageConfigHelpers)

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME shoal) # all but plug-ins; a project has names of its own
endif()

get_property(shoal_install_targets GLOBAL PROPERTY SHOAL_INSTALL_TARGETS)
set(shoal_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/shoal")

install(
  TARGETS ${shoal_install_targets}
  EXPORT shoalTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
get_property(shoal_install_plugins GLOBAL PROPERTY SHOAL_INSTALL_PLUGINS)
foreach(plugin IN LISTS shoal_install_plugins)
  string(REPLACE shoal_mpi_ "" component ${plugin})
  install(TARGETS ${plugin} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${component})
endforeach()
get_property(shoal_install_modules GLOBAL PROPERTY SHOAL_INSTALL_MODULES)
if(shoal_install_modules)
  install(DIRECTORY ${shoal_install_modules}
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/shoal/fortran")
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/shoal" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(PROGRAMS "${PROJECT_SOURCE_DIR}/tools/shoal-explore" DESTINATION "${CMAKE_INSTALL_BINDIR}"
        COMPONENT tools)
install(TARGETS shoal-trace shoal-top RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
        COMPONENT tools)
install(FILES "${PROJECT_SOURCE_DIR}/tools/gdb/shoal_gdb.py"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/shoal/gdb")
# It looks for the library from there.
install(FILES "${PROJECT_SOURCE_DIR}/python/edat/edat.py"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/shoal/python")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/README.md"
              "${PROJECT_SOURCE_DIR}/CHANGELOG.md" "${PROJECT_SOURCE_DIR}/CONTRIBUTING.md"
              "${PROJECT_SOURCE_DIR}/CITATION.cff" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/apps/tutorial/"
        DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples")

# For Environment Modules and Lmod.
set(folder "${CMAKE_INSTALL_DATADIR}/shoal/modulefiles/shoal")
cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE full)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${full}" OUTPUT_VARIABLE up)
configure_file("${PROJECT_SOURCE_DIR}/cmake/modulefile.in" modulefile @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/modulefile" DESTINATION "${folder}"
        RENAME ${PROJECT_VERSION})

get_property(shoal_manual_pages GLOBAL PROPERTY SHOAL_MANUAL_PAGES)
if(shoal_manual_pages)
  install(FILES ${shoal_manual_pages} DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT tools)
endif()
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
  DESTINATION "${shoal_cmake_dir}")

# pkg-config files of the installed libraries: shoal.pc for C++, shoal_c.pc and shoal_edat.pc for C.

# Options that users need whatever they link.
function(shoal_common_pc_options cflags libs)
  get_target_property(options shoal_core INTERFACE_COMPILE_OPTIONS)
  get_target_property(definitions shoal_core INTERFACE_COMPILE_DEFINITIONS)
  get_target_property(link_options shoal_core INTERFACE_LINK_OPTIONS)
  foreach(list IN ITEMS options definitions link_options)
    if(NOT ${list})
      set(${list} "")
    endif()
  endforeach()
  list(TRANSFORM definitions PREPEND -D)
  set(${cflags} ${options} ${definitions} PARENT_SCOPE)
  set(${libs} ${link_options} PARENT_SCOPE)
endfunction()

# shoal_pkg_config(<name> DESCRIPTION <text> INCLUDE <folder> REQUIRES ... CFLAGS ... LIBS ...)
function(shoal_pkg_config name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DESCRIPTION;INCLUDE" "REQUIRES;CFLAGS;LIBS")
  set(libdir "${CMAKE_INSTALL_LIBDIR}")
  set(includedir "${arg_INCLUDE}")
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY
             "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" OUTPUT_VARIABLE up)
  foreach(folder IN ITEMS libdir includedir)
    if(NOT IS_ABSOLUTE "${${folder}}")
      set(${folder} "\${prefix}/${${folder}}") # so that the prefix can be moved
    endif()
  endforeach()
  shoal_common_pc_options(common_cflags common_libs)
  list(JOIN arg_REQUIRES " " requires)
  string(JOIN " " cflags ${arg_CFLAGS} ${common_cflags})
  string(JOIN " " libs ${arg_LIBS} ${common_libs})
  configure_file("${PROJECT_SOURCE_DIR}/cmake/shoal.pc.in"
                 "${CMAKE_CURRENT_BINARY_DIR}/pkgconfig/${name}.pc" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/pkgconfig/${name}.pc"
          DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()

get_target_property(definitions shoal_shoal INTERFACE_COMPILE_DEFINITIONS)
list(TRANSFORM definitions PREPEND -D OUTPUT_VARIABLE cflags)
set(requires fmt hwloc libxxhash)
set(libs -lshoal)
if(SHOAL_MPI_STATIC)
  list(APPEND libs -lshoal_mpi_static)
  if(SHOAL_MPI_STATIC STREQUAL "openmpi")
    list(APPEND requires ompi-c)
  elseif(SHOAL_MPI_STATIC STREQUAL "mpich")
    list(APPEND requires mpich)
  else()
    list(APPEND libs ${MPI_CXX_LIBRARIES})
    list(TRANSFORM MPI_CXX_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE includes)
    list(APPEND cflags ${includes})
  endif()
endif()
# Users of an archive link what it needs. The RUNPATH leads to plug-ins and shared libraries;
# pkg-config quotes a blank in it only if no other option is before it.
shoal_pkg_config(
  shoal
  DESCRIPTION "${PROJECT_DESCRIPTION}"
  INCLUDE "${CMAKE_INSTALL_INCLUDEDIR}"
  REQUIRES ${requires}
  CFLAGS ${cflags}
  LIBS -pthread ${libs} -lboost_context "-Wl,-rpath,\${libdir}")
shoal_pkg_config(
  shoal_c
  DESCRIPTION "Tasks driven by events, for C"
  INCLUDE "${CMAKE_INSTALL_INCLUDEDIR}"
  LIBS -lshoal_c "-Wl,-rpath,\${libdir}")
shoal_pkg_config(
  shoal_edat
  DESCRIPTION "Programs written for the EDAT library, on shoal"
  INCLUDE "${CMAKE_INSTALL_INCLUDEDIR}/shoal/edat"
  LIBS -lshoal_edat "-Wl,-rpath,\${libdir}")

# Packages by CPack: shoal, and one for each plug-in, which needs its MPI. Names of packages are
# those of Debian.
if(PROJECT_IS_TOP_LEVEL)
  set(CPACK_PACKAGE_CONTACT "The shoal developers <shoal@localhost>" CACHE STRING
                                                                    "Maintainer of packages")
  set(CPACK_PACKAGE_VENDOR "The shoal developers")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
  set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_COMPONENTS_ALL shoal tools)
  set(CPACK_COMPONENT_SHOAL_GROUP shoal) # one package
  set(CPACK_COMPONENT_TOOLS_GROUP shoal)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_SHOAL_PACKAGE_NAME shoal)
  set(CPACK_DEBIAN_SHOAL_PACKAGE_DEPENDS
      "libboost-context-dev, libfmt-dev, libhwloc-dev, libxxhash-dev, python3")
  foreach(plugin IN LISTS shoal_install_plugins)
    string(REPLACE shoal_mpi_ "" component ${plugin})
    string(TOUPPER ${component} name)
    list(APPEND CPACK_COMPONENTS_ALL ${component})
    list(APPEND CPACK_DEBIAN_SHOAL_PACKAGE_SUGGESTS shoal-${component})
    set(CPACK_DEBIAN_${name}_PACKAGE_DEPENDS "shoal (= ${PROJECT_VERSION})")
    set(CPACK_COMPONENT_${name}_DESCRIPTION "Plug-in of shoal for MPI: ${component}")
  endforeach()
  string(REPLACE ";" ", " CPACK_DEBIAN_SHOAL_PACKAGE_SUGGESTS
                 "${CPACK_DEBIAN_SHOAL_PACKAGE_SUGGESTS}")
  include(CPack)
endif()
