# The libraries that shoal is built on. Read by shoal's own build and, installed, by
# shoalConfig.cmake, so that both find the same packages under the same target names.

find_package(fmt CONFIG REQUIRED)
find_package(Threads REQUIRED)
find_package(Boost REQUIRED COMPONENTS context)
find_package(PkgConfig REQUIRED)
pkg_check_modules(SHOAL_HWLOC REQUIRED IMPORTED_TARGET GLOBAL hwloc)
pkg_check_modules(SHOAL_XXHASH REQUIRED IMPORTED_TARGET GLOBAL libxxhash)
