# Functions that define shoal's targets. The table of the layers itself is in src/CMakeLists.txt.

# Language level and warnings for a target of ours. PRIVATE: nothing of it reaches a consumer. No
# program replaces our functions at run time, so gcc may inline them in -fPIC code, as clang does.
function(shoal_target_defaults target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  if(NOT shoal_optimization_chosen)
    target_compile_options(${target} PRIVATE -O2)
    target_compile_definitions(${target} PRIVATE NDEBUG)
  endif()
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_options(
    ${target}
    PRIVATE -Wall
            -Wextra
            -Wpedantic
            -Wconversion
            $<$<BOOL:${SHOAL_WERROR}>:-Werror>
            $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>
            $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
            $<$<CXX_COMPILER_ID:Clang>:-Werror=thread-safety>)
  shoal_leave_out_paths(${target})
  shoal_trust_headers(${target})
endfunction()

# UndefinedBehaviorSanitizer checks nothing in headers of the system.
function(shoal_trust_headers target)
  if(SHOAL_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    set(list "${PROJECT_SOURCE_DIR}/cmake/undefined_ignorelist.txt")
    if(CMAKE_GENERATOR MATCHES "Ninja") # relative, so that another checkout hits the compiler cache
      cmake_path(RELATIVE_PATH list BASE_DIRECTORY "${CMAKE_BINARY_DIR}")
    endif()
    # By the older name of the option, ccache knows that the text of that file counts.
    target_compile_options(${target} PRIVATE "-fsanitize-blacklist=${list}")
  endif()
endfunction()

# No path of this machine in what is installed: in Release, and in all configurations of a build for
# nothing but that. Elsewhere debuggers find the sources of shoal by their paths: in builds with
# tests, and in projects that have shoal in a subfolder.
function(shoal_leave_out_paths target)
  set(here $<CONFIG:Release,MinSizeRel>)
  if(PROJECT_IS_TOP_LEVEL AND NOT SHOAL_BUILD_TESTS)
    set(here 1)
  endif()
  target_compile_options(
    ${target} PRIVATE $<${here}:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>
                      $<${here}:-ffile-prefix-map=${CMAKE_BINARY_DIR}=.>)
endfunction()

# Options that shoal and whatever is linked with it are compiled and linked with alike: those of
# SHOAL_SANITIZE and SHOAL_GLIBCXX_DEBUG. shoal itself announces its fibers to the sanitizers
# (src/sched): these flags are all it takes.
function(shoal_common_options target scope)
  if(SHOAL_SANITIZE)
    list(JOIN SHOAL_SANITIZE "," sanitizers)
    target_compile_options(${target} ${scope} -fsanitize=${sanitizers} -fno-sanitize-recover=all
                                     -fno-omit-frame-pointer)
    target_link_options(${target} ${scope} -fsanitize=${sanitizers})
  endif()
  if(SHOAL_GLIBCXX_DEBUG)
    target_compile_definitions(${target} ${scope} _GLIBCXX_DEBUG)
  endif()
endfunction()

# In a subfolder, a target of ours is built if another one needs it.
function(shoal_build_if_needed target)
  if(NOT PROJECT_IS_TOP_LEVEL AND NOT SHOAL_INSTALL)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# For every target, as one may have precompiled headers of its own: the compiler cache leaves them
# out.
if(SHOAL_PCH)
  list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER "${PROJECT_SOURCE_DIR}/cmake/new_output")
endif()

# Of the tools, and what reads options: shoal-trace takes 2 to 14 % more instructions, and the
# compiler 40 % less time (gcc 12).
set(SHOAL_TOOL_OPTIONS $<$<CONFIG:Release,RelWithDebInfo>:-O1> ${SHOAL_PROGRAM_OPTIONS})

# shoal_pch(<target> OPTIONS <option>... LINK <library>... HEADERS <header>...)
# Headers that the targets of shoal_use_pch(... <target>) share precompiled, if SHOAL_PCH is on.
function(shoal_pch target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "OPTIONS;LINK;HEADERS")
  if(NOT SHOAL_PCH)
    return()
  endif()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "// for the precompiled headers\n")
  add_library(${target} OBJECT EXCLUDE_FROM_ALL "${source}")
  shoal_target_defaults(${target})
  target_compile_options(${target} PRIVATE ${arg_OPTIONS})
  shoal_common_options(${target} PRIVATE)
  target_link_libraries(${target} PRIVATE ${arg_LINK})
  target_precompile_headers(${target} PRIVATE ${arg_HEADERS})
endfunction()

function(shoal_use_pch target pch)
  if(SHOAL_PCH)
    target_precompile_headers(${target} REUSE_FROM ${pch})
  endif()
endfunction()

# shoal_join_later(<target> [<bytes>]): with SHOAL_UNITY, the sources of a target become units, as
# by CMake's UNITY_BUILD; but no path of this checkout stands in them, which the compiler cache
# would miss in another one. A unit has sources of one folder, of so many bytes together, or
# UNITY_BUILD_BATCH_SIZE sources (0: all). (Where the engine of MPI was joined with links and
# packets, gcc inlined less of it, and a round trip in the memory of a node took 8 % longer.) Until
# shoal_join_now, sources may get SKIP_UNITY_BUILD_INCLUSION.
function(shoal_join_later target)
  if(SHOAL_UNITY)
    set_property(GLOBAL APPEND PROPERTY SHOAL_JOINED_TARGETS ${target})
    set_target_properties(${target} PROPERTIES SHOAL_JOINED_BYTES "${ARGN}")
  endif()
endfunction()

# Sets `count` to how many of the sources in `folder` become the first unit, of at most `bytes`.
function(shoal_first_unit count folder bytes)
  set(number 0)
  foreach(source IN LISTS ARGN)
    file(SIZE "${folder}/${source}" size)
    if(number GREATER 0 AND size GREATER bytes)
      break()
    endif()
    math(EXPR number "${number} + 1")
    math(EXPR bytes "${bytes} - ${size}")
  endforeach()
  set(${count} ${number} PARENT_SCOPE)
endfunction()

function(shoal_join_now)
  get_property(targets GLOBAL PROPERTY SHOAL_JOINED_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(sources ${target} SOURCES)
    get_target_property(folder ${target} SOURCE_DIR)
    get_target_property(output ${target} BINARY_DIR)
    get_target_property(size ${target} UNITY_BUILD_BATCH_SIZE)
    if(NOT size MATCHES "^[0-9]+$")
      set(size 16)
    elseif(size EQUAL 0)
      set(size -1)
    endif()
    get_target_property(bytes ${target} SHOAL_JOINED_BYTES)
    set(parts "")
    set(compiled "")
    foreach(source IN LISTS sources)
      if(source MATCHES "^\\$<") # objects
        list(APPEND compiled "${source}")
        continue()
      endif()
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${folder}")
      get_source_file_property(alone "${source}" TARGET_DIRECTORY ${target}
                               SKIP_UNITY_BUILD_INCLUSION)
      cmake_path(IS_PREFIX folder "${source}" is_there)
      if(alone OR NOT is_there) # or generated
        list(APPEND compiled "${source}")
        continue()
      endif()
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${folder}")
      cmake_path(GET source PARENT_PATH part)
      string(REGEX REPLACE "[^a-z0-9]+" "_" part "_${part}")
      list(APPEND parts ${part})
      list(APPEND sources_${part} "${source}")
    endforeach()
    list(REMOVE_DUPLICATES parts)
    foreach(part IN LISTS parts)
      set(number 0)
      while(sources_${part})
        if(bytes)
          shoal_first_unit(size "${folder}" ${bytes} ${sources_${part}})
        endif()
        list(SUBLIST sources_${part} 0 ${size} unit)
        list(REMOVE_ITEM sources_${part} ${unit})
        list(TRANSFORM unit REPLACE "(.+)" "#include \"\\1\"\n")
        list(JOIN unit "" text)
        set(source "${output}/${target}${part}_unity_${number}.cpp")
        file(CONFIGURE OUTPUT "${source}" CONTENT "${text}" @ONLY)
        list(APPEND compiled "${source}")
        math(EXPR number "${number} + 1")
      endwhile()
    endforeach()
    set_target_properties(${target} PROPERTIES SOURCES "${compiled}")
  endforeach()
endfunction()

# Libraries of others that the layers are compiled with, and shoal::shoal is linked with.
set(SHOAL_NEEDS fmt::fmt Threads::Threads Boost::context PkgConfig::SHOAL_HWLOC
                PkgConfig::SHOAL_XXHASH)

# shoal_layer(<name> [APART] [LIGHT] [PCH <precompiled headers>] [FOLDERS <subfolder>...]
#             [DEPENDS <layer>...] [HEADERS <header>...])
# Objects of src/<name>/*.cpp and of the subfolders, a part of shoal::shoal. APART: a library of its
# own, which links shoal::shoal. LIGHT: compiled with SHOAL_LIGHT_OPTIONS.
function(shoal_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "APART;LIGHT" "PCH" "FOLDERS;DEPENDS;HEADERS")
  set(patterns "${PROJECT_SOURCE_DIR}/src/${name}/*.cpp")
  foreach(folder IN LISTS arg_FOLDERS)
    list(APPEND patterns "${PROJECT_SOURCE_DIR}/src/${name}/${folder}/*.cpp")
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(NOT sources)
    return()
  endif()
  set(layer shoal_${name})
  if(arg_APART)
    add_library(${layer} STATIC ${sources})
    target_link_libraries(${layer} PUBLIC shoal_core)
  else()
    add_library(${layer} OBJECT ${sources})
    target_link_libraries(${layer} PRIVATE ${SHOAL_NEEDS} nlohmann_json::nlohmann_json CLI11::CLI11)
    shoal_common_options(${layer} PRIVATE)
    set_property(GLOBAL APPEND PROPERTY SHOAL_LAYERS ${layer})
  endif()
  shoal_target_defaults(${layer})
  target_include_directories(${layer} PRIVATE "${PROJECT_SOURCE_DIR}/src"
                                              "${PROJECT_SOURCE_DIR}/include")
  set_target_properties(${layer} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  shoal_join_later(${layer})
  if(arg_LIGHT AND SHOAL_LIGHT_OPTIONS)
    set(arg_PCH shoal_light_pch)
    target_compile_options(${layer} PRIVATE ${SHOAL_LIGHT_OPTIONS})
  elseif(NOT arg_PCH)
    set(arg_PCH shoal_library_pch)
  endif()
  shoal_use_pch(${layer} ${arg_PCH})
  shoal_build_if_needed(${layer})
endfunction()

# shoal_core: the layers in one library, libshoal.a, or libshoal.so with BUILD_SHARED_LIBS. The
# target shoal::shoal adds to it what programs find plug-ins with.
function(shoal_join_layers)
  get_property(layers GLOBAL PROPERTY SHOAL_LAYERS)
  list(TRANSFORM layers REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  set_property(GLOBAL PROPERTY SHOAL_CORE_OBJECTS ${objects})
  add_library(shoal_core ${objects})
  set_target_properties(
    shoal_core
    PROPERTIES OUTPUT_NAME shoal
               EXPORT_NAME core
               LINKER_LANGUAGE CXX
               VERSION ${PROJECT_VERSION}
               SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_compile_features(shoal_core PUBLIC cxx_std_20)
  shoal_common_options(shoal_core PUBLIC)
  target_include_directories(
    shoal_core PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(shoal_core PUBLIC ${SHOAL_NEEDS})
  if(BUILD_SHARED_LIBS)
    target_compile_definitions(shoal_core INTERFACE SHOAL_SHARED)
  endif()
  shoal_build_if_needed(shoal_core)
  add_library(shoal_shoal INTERFACE)
  set_target_properties(shoal_shoal PROPERTIES EXPORT_NAME shoal)
  add_library(shoal::shoal ALIAS shoal_shoal)
  target_link_libraries(shoal_shoal INTERFACE shoal_core)
  set_property(GLOBAL APPEND PROPERTY SHOAL_INSTALL_TARGETS shoal_core shoal_shoal)
endfunction()

# shoal_mpi_plugin(<name>)
# libshoal_mpi_<name>.so, which the library loads: src/net/mpi_plugin with that MPI.
function(shoal_mpi_plugin name)
  set(plugin shoal_mpi_${name})
  add_library(${plugin} MODULE net/mpi_plugin/mpi_plugin.cpp)
  shoal_mpi_plugin_options(${plugin} ${name})
  set_property(GLOBAL APPEND PROPERTY SHOAL_INSTALL_PLUGINS ${plugin})
endfunction()

# Nothing of C++ passes between a plug-in and the library, nor does it need anything at run time.
function(shoal_mpi_plugin_options target name)
  shoal_target_defaults(${target})
  shoal_common_options(${target} PRIVATE)
  shoal_build_if_needed(${target})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON
                                             CXX_VISIBILITY_PRESET hidden)
  target_compile_options(${target} PRIVATE -fno-exceptions -fno-rtti)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  shoal_mpi_plugin_definitions(${target} ${name})
endfunction()

function(shoal_mpi_plugin_definitions target name)
  target_compile_definitions(${target} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX
                                               SHOAL_MPI_PLUGIN_NAME="${name}")
  target_link_libraries(${target} PRIVATE ${SHOAL_MPI_${name}_TARGET})
endfunction()

# The plug-ins are built with a target, and with all that link it.
function(shoal_build_plugins_with target)
  foreach(name IN LISTS SHOAL_MPI_PLUGINS)
    add_dependencies(${target} shoal_mpi_${name})
  endforeach()
endfunction()

# The RUNPATH of programs that link an interface library names the folder of the plug-ins.
function(shoal_name_plugin_folder target)
  target_link_options(
    ${target} INTERFACE $<BUILD_INTERFACE:LINKER:-rpath,${CMAKE_CURRENT_BINARY_DIR}>
    $<INSTALL_INTERFACE:LINKER:-rpath,$<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}>)
endfunction()

# shoal_c_library(<name> LAYER <layer> INCLUDE <folder>)
# Shared library shoal_<name>, as shoal::<name>: the C functions of a layer, and all of shoal.
# src/<layer>/exports.map names what others see of it. It looks for plug-ins beside itself.
function(shoal_c_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LAYER;INCLUDE" "")
  set(library shoal_${name})
  set(exports "${PROJECT_SOURCE_DIR}/src/${arg_LAYER}/exports.map")
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${name}_library.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "// everything is in the libraries that are linked\n")
  add_library(${library} SHARED "${source}")
  target_link_libraries(${library} PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,shoal_${arg_LAYER}>
                                           shoal_core)
  target_link_options(${library} PRIVATE "LINKER:--version-script=${exports}" LINKER:-z,nodelete)
  set_target_properties(
    ${library}
    PROPERTIES EXPORT_NAME ${name}
               LINK_DEPENDS "${exports}"
               VERSION ${PROJECT_VERSION}
               SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  shoal_build_plugins_with(${library})
  shoal_leave_out_paths(${library})
  shoal_common_options(${library} INTERFACE)
  target_include_directories(
    ${library}
    INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/${arg_INCLUDE}>
              $<INSTALL_INTERFACE:${arg_INCLUDE}>)
  add_library(shoal::${name} ALIAS ${library})
  set_property(GLOBAL APPEND PROPERTY SHOAL_INSTALL_TARGETS ${library})
  shoal_build_if_needed(${library})
endfunction()

# The modules shoal_events and shoal_trace, on libshoal_c: shoal::fortran.
function(shoal_fortran_library)
  set(modules "${CMAKE_CURRENT_BINARY_DIR}/fortran")
  set(sources "${PROJECT_SOURCE_DIR}/src/fortran")
  add_library(
    shoal_fortran STATIC "${sources}/shoal_events.f90" "${sources}/shoal_events_c.f90"
                         "${sources}/shoal_events_firing.f90" "${sources}/shoal_trace.f90")
  set_target_properties(
    shoal_fortran PROPERTIES Fortran_MODULE_DIRECTORY "${modules}" EXPORT_NAME fortran
                             POSITION_INDEPENDENT_CODE ON)
  shoal_build_if_needed(shoal_fortran)
  target_compile_options(shoal_fortran PRIVATE -std=f2018 -Wall -Wextra
                                               $<$<BOOL:${SHOAL_WERROR}>:-Werror>)
  shoal_leave_out_paths(shoal_fortran)
  target_include_directories(
    shoal_fortran INTERFACE $<BUILD_INTERFACE:${modules}>
                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/shoal/fortran>)
  target_link_libraries(shoal_fortran PUBLIC shoal_c)
  add_library(shoal::fortran ALIAS shoal_fortran)
  set_property(GLOBAL APPEND PROPERTY SHOAL_INSTALL_TARGETS shoal_fortran)
  set_property(GLOBAL PROPERTY SHOAL_INSTALL_MODULES "${modules}/")
endfunction()
