# Finds what shoal is built on, and the MPIs that it gets plug-ins for: SHOAL_MPI_PLUGINS.

set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON) # a parent project links our targets too
include(ShoalFind)
find_package(CLI11 CONFIG REQUIRED) # headers only, used inside src/runtime
find_package(nlohmann_json CONFIG REQUIRED) # headers only, used inside src/contention

function(shoal_require_mpi option name)
  if(NOT name MATCHES "^(openmpi|mpich|system|abi)$")
    message(FATAL_ERROR "${option}=${${option}}: '${name}' is not openmpi, mpich, system or abi.")
  endif()
  shoal_find_mpi(${name})
  if(NOT SHOAL_MPI_${name}_TARGET)
    message(FATAL_ERROR "${option} names ${name}, which was not found. Install it (tools/setup "
                        "does), or leave it out.")
  endif()
  set(SHOAL_MPI_${name}_TARGET "${SHOAL_MPI_${name}_TARGET}" PARENT_SCOPE)
endfunction()

set(SHOAL_MPI_PLUGINS "")
if(SHOAL_MPI STREQUAL "AUTO")
  foreach(name IN ITEMS openmpi mpich system abi)
    if(name STREQUAL "system" AND SHOAL_MPI_PLUGINS)
      continue() # it is one of them
    endif()
    shoal_find_mpi(${name})
    if(SHOAL_MPI_${name}_TARGET)
      list(APPEND SHOAL_MPI_PLUGINS ${name})
    endif()
  endforeach()
elseif(SHOAL_MPI)
  foreach(name IN LISTS SHOAL_MPI)
    shoal_require_mpi(SHOAL_MPI ${name})
    list(APPEND SHOAL_MPI_PLUGINS ${name})
  endforeach()
endif()

if(SHOAL_MPI_STATIC)
  shoal_require_mpi(SHOAL_MPI_STATIC "${SHOAL_MPI_STATIC}")
  set(SHOAL_MPI_PLUGINS "")
  message(STATUS "shoal: MPI linked in: ${SHOAL_MPI_STATIC}")
elseif(SHOAL_MPI_PLUGINS)
  message(STATUS "shoal: plug-ins for MPI: ${SHOAL_MPI_PLUGINS}")
else()
  message(STATUS "shoal: built without plug-ins for MPI")
endif()
