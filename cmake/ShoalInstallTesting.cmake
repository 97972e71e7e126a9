# Tests of shoal as its users get it: installed, and as a subfolder. See tests/install.

# Installs shoal below a scratch prefix and builds the project in tests/install on it.
function(shoal_add_install_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TIMEOUT" "")
  if(NOT EXISTS "${PROJECT_SOURCE_DIR}/include/shoal/shoal.hpp")
    return()
  endif()
  add_test(
    NAME install.find_package
    COMMAND
      "${CMAKE_COMMAND}" "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DLAUNCHER=${SHOAL_TEST_CCACHE}"
      "-DC_COMPILER=${CMAKE_C_COMPILER}" "-DFORTRAN_COMPILER=${CMAKE_Fortran_COMPILER}"
      "-DBUILD_TYPE=${CMAKE_BUILD_TYPE}" "-DVERSION=${PROJECT_VERSION}"
      "-DMPIS=${SHOAL_MPI_PLUGINS}" "-DSHOAL_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
      "-DSHOAL_BINARY_DIR=${PROJECT_BINARY_DIR}"
      "-DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}/install_find_package" -P
      "${PROJECT_SOURCE_DIR}/tests/install/build_consumer.cmake")
  shoal_test_properties(install.find_package install ${arg_TIMEOUT} PROCESSORS 2)
  add_test(
    NAME install.subfolder
    COMMAND
      "${CMAKE_COMMAND}" "-DCOMPILER=${CMAKE_CXX_COMPILER}"
      "-DSHOAL_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
      "-DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}/install_subfolder" -P
      "${PROJECT_SOURCE_DIR}/tests/install/subfolder.cmake")
  shoal_test_properties(install.subfolder install ${arg_TIMEOUT})
  get_property(installed GLOBAL PROPERTY SHOAL_INSTALL_TARGETS)
  get_property(plugins GLOBAL PROPERTY SHOAL_INSTALL_PLUGINS)
  shoal_in_check(install TESTS install.find_package install.subfolder
                 PROGRAMS ${installed} ${plugins} shoal-trace shoal-top)
endfunction()

# Follows "A first program" of the README to the letter: a project with shoal as a subfolder. With
# clang, where there is one: it takes 99 s of a processor, gcc 164, and gcc builds all else.
function(shoal_add_first_program_test)
  find_program(SHOAL_CLANG NAMES clang++-16 clang++)
  if(SHOAL_CLANG)
    set(compiler "${SHOAL_CLANG}")
  else()
    set(compiler "${CMAKE_CXX_COMPILER}")
  endif()
  add_test(
    NAME install.first_program
    COMMAND
      "${CMAKE_COMMAND}" "-DCOMPILER=${compiler}"
      "-DLAUNCHER=${SHOAL_TEST_CCACHE}" "-DSHOAL_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
      "-DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}/first_program" -P
      "${PROJECT_SOURCE_DIR}/tests/install/first_program.cmake")
  shoal_test_properties(install.first_program install 600 PROCESSORS 2)
  shoal_in_check(install TESTS install.first_program)
endfunction()

# The flags of this build, for ThreadSanitizer, reach its users.
function(shoal_add_sanitized_install_test)
  add_test(
    NAME install.sanitized
    COMMAND
      "${CMAKE_COMMAND}" "-DCOMPILER=${CMAKE_CXX_COMPILER}"
      "-DSHOAL_BINARY_DIR=${PROJECT_BINARY_DIR}"
      "-DRUN=${SHOAL_TEST_LAUNCHER}" "-DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}/install_sanitized" -P
      "${PROJECT_SOURCE_DIR}/tests/install/sanitized.cmake")
  shoal_test_properties(install.sanitized install 120)
endfunction()
