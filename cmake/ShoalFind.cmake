# The libraries that shoal is built on. Read by shoal's own build and, installed, by
# shoalConfig.cmake, so that both find the same packages under the same target names.

find_package(fmt CONFIG REQUIRED)
find_package(Threads REQUIRED)
find_package(Boost REQUIRED COMPONENTS context)
find_package(PkgConfig REQUIRED)
pkg_check_modules(SHOAL_HWLOC REQUIRED IMPORTED_TARGET GLOBAL hwloc)
pkg_check_modules(SHOAL_XXHASH REQUIRED IMPORTED_TARGET GLOBAL libxxhash)

# shoal_find_mpi(<openmpi|mpich|system|abi>) sets SHOAL_MPI_<name>_TARGET when that MPI is there.
# abi is an MPI with the standard ABI of MPI 5.0, below SHOAL_MPI_ABI_ROOT or where CMake looks.
function(shoal_find_mpi name)
  set(target "")
  if(name STREQUAL "openmpi")
    pkg_check_modules(SHOAL_OPENMPI QUIET IMPORTED_TARGET GLOBAL ompi-c)
    if(SHOAL_OPENMPI_FOUND)
      set(target PkgConfig::SHOAL_OPENMPI)
    endif()
  elseif(name STREQUAL "mpich")
    pkg_check_modules(SHOAL_MPICH QUIET IMPORTED_TARGET GLOBAL mpich)
    if(SHOAL_MPICH_FOUND)
      set(target PkgConfig::SHOAL_MPICH)
    endif()
  elseif(name STREQUAL "system")
    find_package(MPI QUIET COMPONENTS CXX)
    if(MPI_CXX_FOUND)
      set(target MPI::MPI_CXX)
    endif()
  else()
    find_library(SHOAL_MPI_ABI_LIBRARY NAMES libmpi_abi.so.1 libmpi_abi.so.0 mpi_abi
                 HINTS "${SHOAL_MPI_ABI_ROOT}" PATH_SUFFIXES lib)
    find_path(SHOAL_MPI_ABI_INCLUDE_DIR NAMES mpi_abi.h HINTS "${SHOAL_MPI_ABI_ROOT}"
              PATH_SUFFIXES include)
    if(SHOAL_MPI_ABI_LIBRARY AND SHOAL_MPI_ABI_INCLUDE_DIR)
      add_library(shoal_mpi_abi_library UNKNOWN IMPORTED GLOBAL)
      set_target_properties(
        shoal_mpi_abi_library
        PROPERTIES IMPORTED_LOCATION "${SHOAL_MPI_ABI_LIBRARY}"
                   INTERFACE_INCLUDE_DIRECTORIES "${SHOAL_MPI_ABI_INCLUDE_DIR}"
                   INTERFACE_COMPILE_DEFINITIONS MPI_ABI) # of MPICH's mpi.h
      set(target shoal_mpi_abi_library)
    endif()
  endif()
  set(SHOAL_MPI_${name}_TARGET "${target}" PARENT_SCOPE)
endfunction()
