# Finds what shoal is built on and decides which MPI variants are built: SHOAL_MPI_VARIANTS, and
# which of them is the default one.

set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON) # a parent project links our targets too
include(ShoalFind)
find_package(CLI11 CONFIG REQUIRED) # headers only, used inside src/runtime
find_package(nlohmann_json CONFIG REQUIRED) # headers only, used inside src/contention

set(SHOAL_MPI_VARIANTS "")
if(SHOAL_MPI STREQUAL "AUTO")
  foreach(name IN ITEMS openmpi mpich system)
    if(name STREQUAL "system" AND SHOAL_MPI_VARIANTS)
      break()
    endif()
    shoal_find_mpi(${name})
    if(SHOAL_MPI_${name}_TARGET)
      list(APPEND SHOAL_MPI_VARIANTS ${name})
    endif()
  endforeach()
elseif(SHOAL_MPI)
  foreach(name IN LISTS SHOAL_MPI)
    if(NOT name MATCHES "^(openmpi|mpich|system)$")
      message(FATAL_ERROR "SHOAL_MPI=${SHOAL_MPI}: '${name}' is not openmpi, mpich or system. "
                          "Use AUTO, OFF, or a list of these.")
    endif()
    shoal_find_mpi(${name})
    if(NOT SHOAL_MPI_${name}_TARGET)
      message(FATAL_ERROR "SHOAL_MPI names ${name}, which was not found. Install it "
                          "(tools/setup does), or configure with -DSHOAL_MPI=OFF.")
    endif()
    list(APPEND SHOAL_MPI_VARIANTS ${name})
  endforeach()
endif()

set(SHOAL_DEFAULT_VARIANT none)
if(SHOAL_MPI_VARIANTS)
  list(GET SHOAL_MPI_VARIANTS 0 SHOAL_DEFAULT_VARIANT)
  message(STATUS "shoal: MPI variants: ${SHOAL_MPI_VARIANTS}")
else()
  message(STATUS "shoal: built without MPI")
endif()
