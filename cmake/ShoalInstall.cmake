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
  DESTINATION "${shoal_cmake_dir}")

# pkg-config files of the installed libraries: shoal.pc for C++, shoal_c.pc and shoal_edat.pc for C.

# Collects the archives of shoal that an archive has to be linked with, in the order of the link
# line, and packages and options of other projects.
function(shoal_collect_archives target)
  get_property(known GLOBAL PROPERTY SHOAL_PC_SEEN)
  if(target IN_LIST known)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY SHOAL_PC_SEEN ${target})
  get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
  list(REVERSE libraries)
  foreach(library IN LISTS libraries)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" library "${library}")
    if(library MATCHES "^shoal_")
      shoal_collect_archives(${library})
    elseif(library MATCHES "^(PkgConfig::SHOAL_|)(HWLOC|XXHASH|OPENMPI|MPICH|fmt::fmt)$")
      string(REPLACE "HWLOC" "hwloc" package "${CMAKE_MATCH_2}")
      string(REPLACE "XXHASH" "libxxhash" package "${package}")
      string(REPLACE "OPENMPI" "ompi-c" package "${package}")
      string(REPLACE "MPICH" "mpich" package "${package}")
      string(REPLACE "fmt::fmt" "fmt" package "${package}")
      set_property(GLOBAL APPEND PROPERTY SHOAL_PC_REQUIRES ${package})
    elseif(library STREQUAL "Boost::context")
      set_property(GLOBAL APPEND PROPERTY SHOAL_PC_LIBS -lboost_context)
    elseif(library STREQUAL "Threads::Threads")
      set_property(GLOBAL APPEND PROPERTY SHOAL_PC_LIBS -pthread)
    elseif(library STREQUAL "MPI::MPI_CXX")
      set_property(GLOBAL APPEND PROPERTY SHOAL_PC_LIBS ${MPI_CXX_LIBRARIES})
      list(TRANSFORM MPI_CXX_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE includes)
      set_property(GLOBAL APPEND PROPERTY SHOAL_PC_CFLAGS ${includes})
    endif()
  endforeach()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    set_property(GLOBAL APPEND PROPERTY SHOAL_PC_ARCHIVES -l${target})
  endif()
endfunction()

# Options that users need whatever they link.
function(shoal_common_pc_options cflags libs)
  get_target_property(options shoal_base INTERFACE_COMPILE_OPTIONS)
  get_target_property(definitions shoal_base INTERFACE_COMPILE_DEFINITIONS)
  get_target_property(link_options shoal_base INTERFACE_LINK_OPTIONS)
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

shoal_collect_archives(shoal_shoal)
foreach(property IN ITEMS ARCHIVES REQUIRES LIBS CFLAGS)
  get_property(${property} GLOBAL PROPERTY SHOAL_PC_${property})
endforeach()
list(REVERSE ARCHIVES)
list(REMOVE_DUPLICATES REQUIRES)
get_target_property(definitions shoal_shoal INTERFACE_COMPILE_DEFINITIONS)
list(TRANSFORM definitions PREPEND -D)
list(APPEND CFLAGS ${definitions})
# Archives only, so what they need is no private matter of theirs. The RUNPATH leads to plug-ins.
shoal_pkg_config(
  shoal
  DESCRIPTION "${PROJECT_DESCRIPTION}"
  INCLUDE "${CMAKE_INSTALL_INCLUDEDIR}"
  REQUIRES ${REQUIRES}
  CFLAGS ${CFLAGS}
  LIBS ${ARCHIVES} ${LIBS} "-Wl,-rpath,\${libdir}")
shoal_pkg_config(
  shoal_c
  DESCRIPTION "Tasks driven by events, for C"
  INCLUDE "${CMAKE_INSTALL_INCLUDEDIR}"
  LIBS -lshoal_c)
shoal_pkg_config(
  shoal_edat
  DESCRIPTION "Programs written for the EDAT library, on shoal"
  INCLUDE "${CMAKE_INSTALL_INCLUDEDIR}/shoal/edat"
  LIBS -lshoal_edat)
