# Languages besides C++, which alone the library is written in.

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
