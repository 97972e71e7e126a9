# Languages besides C++, and settings of a build of shoal itself. A project that adds shoal as a
# subfolder keeps its own settings.

if(SHOAL_BUILD_TESTS)
  enable_language(C)
endif()

# Decides SHOAL_HAS_FORTRAN. A project that adds shoal as a subfolder may have its reasons not to
# enable Fortran. The sanitizers of clang and gfortran's programs do not go together.
set(SHOAL_HAS_FORTRAN OFF)
if(SHOAL_FORTRAN STREQUAL "AUTO" AND NOT SHOAL_SANITIZE)
  if(PROJECT_IS_TOP_LEVEL)
    include(CheckLanguage)
    check_language(Fortran)
  endif()
  if(CMAKE_Fortran_COMPILER)
    set(SHOAL_HAS_FORTRAN ON)
  elseif(SHOAL_BUILD_TESTS)
    message(FATAL_ERROR "The tests need a Fortran compiler: install gfortran (tools/setup does), "
                        "or configure with -DSHOAL_FORTRAN=OFF.")
  endif()
elseif(SHOAL_FORTRAN STREQUAL "ON")
  set(SHOAL_HAS_FORTRAN ON)
endif()
if(SHOAL_HAS_FORTRAN)
  enable_language(Fortran)
endif()

if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE
      Release
      CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(SHOAL_CCACHE ccache)
if(SHOAL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # In its depend mode, ccache does not preprocess what it has to compile anyway. Precompiled
  # headers are inputs of 100 MB: by the cache of inodes, each is read once, not for every object.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_DEPEND=true CCACHE_INODECACHE=true "${SHOAL_CCACHE}")
  if(SHOAL_PCH) # without these, ccache passes over whatever uses precompiled headers
    list(INSERT CMAKE_CXX_COMPILER_LAUNCHER 1 CCACHE_SLOPPINESS=pch_defines,time_macros
         CCACHE_PCH_EXTSUM=true) # cmake/new_output
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
      # No path behind -Xclang, which ccache would not make relative.
      set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include <PCH_HEADER>)
      set(CMAKE_CXX_COMPILE_OPTIONS_CREATE_PCH -x c++-header -include <PCH_HEADER>)
    endif()
  endif()
endif()

# Hundreds of programs are linked: with the linker of binutils, that is a tenth of a build's time.
find_program(SHOAL_MOLD mold)
if(SHOAL_MOLD AND SHOAL_BUILD_TESTS)
  add_link_options(-fuse-ld=mold)
endif()

# Units of joined tests need so much memory that gcc's collector takes a tenth of the time.
if(SHOAL_BUILD_TESTS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=500000>)
endif()

if(SHOAL_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()
