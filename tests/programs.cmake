# Programs that suites run, in C and Fortran (tests/suites/c_*.py, edat_*.py, fortran_*.py), and for
# those of the plug-ins for MPI and of hosts.

# A program of tests/, with shoal::<library>.
function(shoal_c_test_program target source library)
  add_executable(${target} "${source}")
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:-Wall>
                                           $<$<BOOL:${SHOAL_WERROR}>:-Werror> ${ARGN})
  set_target_properties(${target} PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF
                        Fortran_MODULE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/${target}.mod")
  if(SHOAL_SANITIZE) # the program brings what the sanitizers need, of C++ too
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
  target_link_libraries(${target} PRIVATE shoal::${library})
endfunction()

shoal_c_test_program(c_event_calls c/event_calls.c c -Wextra -Wpedantic)
shoal_c_test_program(c_machine_events c/machine_events.c c -Wextra -Wpedantic)
shoal_c_test_program(c_event_failures c/event_failures.c c)
set(c_programs c_event_calls c_machine_events c_event_failures)
if(NOT SHOAL_SANITIZE)
  add_executable(c_load_library c/load_library.c)
  target_compile_options(c_load_library PRIVATE -Wall -Wextra -Wpedantic)
  set_target_properties(c_load_library PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
  target_include_directories(c_load_library PRIVATE "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(c_load_library PRIVATE ${CMAKE_DL_LIBS})
  add_dependencies(c_load_library shoal_c shoal_edat)
endif()

if(SHOAL_HAS_FORTRAN)
  shoal_c_test_program(fortran_reduction fortran/reduction.f90 fortran -std=f2018 -Wall
                       -Wno-unused-dummy-argument)
endif()

# As in the paper, functions of the listings do not use all of their arguments.
file(GLOB listings CONFIGURE_DEPENDS edat/listings/*.c)
set(edat_programs edat_refusals edat_interface edat_interface_cxx edat_matching)
foreach(source IN LISTS listings)
  cmake_path(GET source STEM name)
  shoal_c_test_program(edat_${name} "${source}" edat -Wno-unused-parameter -Wno-strict-prototypes)
  list(APPEND edat_programs edat_${name})
endforeach()
shoal_c_test_program(edat_refusals edat/refusals.c edat)
shoal_c_test_program(edat_interface edat/interface.c edat -Werror)
shoal_c_test_program(edat_interface_cxx edat/interface.cpp edat)
shoal_c_test_program(edat_matching edat/matching.cpp edat)
target_compile_features(edat_matching PRIVATE cxx_std_20)
if(NOT SHOAL_SANITIZE)
  foreach(mpi IN LISTS SHOAL_MPI_PLUGINS)
    shoal_c_test_program(edat_with_mpi_${mpi} edat/with_mpi.c edat)
    target_link_libraries(edat_with_mpi_${mpi} PRIVATE ${SHOAL_MPI_${mpi}_TARGET})
    list(APPEND edat_programs edat_with_mpi_${mpi})
  endforeach()
endif()
if(SHOAL_HAS_FORTRAN)
  shoal_c_test_program(edat_fortran edat/fortran/calls.f90 edat -std=f2018
                       -Wno-unused-dummy-argument)
  target_sources(edat_fortran PRIVATE edat/fortran/edat.f90)
  list(APPEND edat_programs edat_fortran)
endif()

set(plugin_programs tutorial_hello mpi_bare_hello mpi_static_hello mpi_other_version c_load_library)
if(SHOAL_MPI_PLUGINS AND TARGET tutorial_hello AND NOT SHOAL_SANITIZE)
  set(hello "${PROJECT_SOURCE_DIR}/apps/tutorial/hello.cpp")
  list(GET SHOAL_MPI_PLUGINS 0 first)
  shoal_test_program(mpi_bare_hello "${hello}" shoal_object shoal_runtime)
  add_library(mpi_other_version MODULE plugin/other_version.cpp)
  target_include_directories(mpi_other_version PRIVATE "${PROJECT_SOURCE_DIR}/src")
  # As with SHOAL_MPI_STATIC: its definition of linked_mpi() comes before that of the library.
  shoal_test_program(mpi_static_hello "${hello}" shoal_object shoal_runtime)
  target_sources(mpi_static_hello PRIVATE "${PROJECT_SOURCE_DIR}/src/net/mpi_linked/linked.cpp"
                                          "${PROJECT_SOURCE_DIR}/src/net/mpi_plugin/mpi_plugin.cpp")
  shoal_mpi_plugin_definitions(mpi_static_hello ${first})
endif()

if(NOT SHOAL_SANITIZE)
  shoal_test_program(cluster_rounds cluster/rounds.cpp shoal::shoal)
  if(mpich IN_LIST SHOAL_MPI_PLUGINS)
    add_library(cluster_mpich_finalize SHARED cluster/mpich_finalize.cpp)
    shoal_target_defaults(cluster_mpich_finalize)
  endif()
endif()
