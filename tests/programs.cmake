# Programs that suites run (tests/suites): of MPI, in C and Fortran, of plug-ins and of hosts.

# The tests of tests/mpi/, which are registered by name (tests/support/joined_program.hpp), run over
# all MPIs (tests/suites/mpi_programs.py). Those that call MPI are in mpi_<mpi>_tests: with mpi.h,
# they are compiled for each MPI, by mpi_launch.hpp once. The others leave MPI to the library, and
# are in mpi_tests.
set(SHOAL_TESTS_WITH_MPI mpi_launch net_transport_policy_test object_world_test runtime_launch_test
                         runtime_stall_test runtime_world_test)
set(SHOAL_TESTS_OF_LAUNCHES
    event_world_test memory_lifetime_test memory_world_test missing_thread net_node_memory_test
    net_rest_test net_transport_failure_test net_transport_funneled_test net_transport_init_test
    net_transport_single_test net_transport_test runtime_call_test runtime_failure_test)

if(SHOAL_MPI_PLUGINS)
  set(with_mpi "")
  set(of_launches "")
  set(without_mpi "")
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" mpi/*.cpp)
  list(REMOVE_ITEM sources mpi/world_battery.cpp)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    if(name IN_LIST SHOAL_TESTS_WITH_MPI)
      list(APPEND with_mpi ${source})
    elseif(name IN_LIST SHOAL_TESTS_OF_LAUNCHES)
      list(APPEND of_launches ${source})
    else()
      list(APPEND without_mpi ${source})
    endif()
  endforeach()
  add_library(mpi_test_parts OBJECT mpi/world_battery.cpp)
  shoal_test_defaults(mpi_test_parts shoal_core)
  add_library(mpi_launch_tests OBJECT ${of_launches})
  shoal_test_defaults(mpi_launch_tests shoal_core)
  shoal_test_program(mpi_tests support/joined_programs_main.cpp mpi_test_parts test_programs
                     shoal::shoal)
  target_sources(mpi_tests PRIVATE ${without_mpi})
  set(mpi_programs mpi_tests)
  foreach(mpi IN LISTS SHOAL_MPI_PLUGINS)
    shoal_test_program(mpi_${mpi}_tests support/joined_programs_main.cpp mpi_launch_tests
                       mpi_test_parts test_programs shoal::shoal ${SHOAL_MPI_${mpi}_TARGET})
    target_sources(mpi_${mpi}_tests PRIVATE ${with_mpi})
    list(APPEND mpi_programs mpi_${mpi}_tests)
  endforeach()
  foreach(program IN LISTS mpi_programs ITEMS mpi_launch_tests)
    shoal_join_later(${program})
    set_target_properties(${program} PROPERTIES UNITY_BUILD_BATCH_SIZE 8)
  endforeach()
endif()

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
add_executable(c_load_library c/load_library.c)
target_compile_options(c_load_library PRIVATE -Wall -Wextra -Wpedantic)
set_target_properties(c_load_library PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
target_include_directories(c_load_library PRIVATE "${PROJECT_SOURCE_DIR}/include")
target_link_libraries(c_load_library PRIVATE ${CMAKE_DL_LIBS})
add_dependencies(c_load_library shoal_c shoal_edat)
if(SHOAL_SANITIZE) # as above
  shoal_common_options(c_load_library PRIVATE)
  set_target_properties(c_load_library PROPERTIES LINKER_LANGUAGE CXX)
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

set(plugin_programs tutorial_hello tutorial_memory mpi_bare_hello mpi_other_version
                    mpi_failing_plugin mpi_system_plugin c_load_library)
if(SHOAL_MPI_PLUGINS AND TARGET tutorial_hello AND NOT SHOAL_SANITIZE)
  shoal_test_program(mpi_bare_hello "${PROJECT_SOURCE_DIR}/apps/tutorial/hello.cpp" shoal_core)
  add_library(mpi_other_version MODULE plugin/other_version.cpp)
  target_include_directories(mpi_other_version PRIVATE "${PROJECT_SOURCE_DIR}/src")
  if(mpich IN_LIST SHOAL_MPI_PLUGINS)
    add_library(mpi_failing_plugin MODULE plugin/failing.cpp)
    shoal_mpi_plugin_options(mpi_failing_plugin mpich)
  endif()
  # libshoal_mpi_system.so, of what FindMPI finds, is one of the others here.
  if(NOT system IN_LIST SHOAL_MPI_PLUGINS)
    shoal_find_mpi(system)
    if(SHOAL_MPI_system_TARGET)
      add_library(mpi_system_plugin MODULE
                  "${PROJECT_SOURCE_DIR}/src/net/mpi_plugin/mpi_plugin.cpp")
      shoal_mpi_plugin_options(mpi_system_plugin system)
      set_target_properties(
        mpi_system_plugin PROPERTIES OUTPUT_NAME shoal_mpi_system
                                     LIBRARY_OUTPUT_DIRECTORY system_plugin)
    endif()
  endif()
endif()

if(NOT SHOAL_SANITIZE)
  shoal_test_program(cluster_rounds cluster/rounds.cpp shoal::shoal)
  shoal_test_program(cluster_patterns cluster/patterns.cpp shoal::shoal)
  if(mpich IN_LIST SHOAL_MPI_PLUGINS)
    add_library(cluster_mpich_finalize SHARED cluster/mpich_finalize.cpp)
    shoal_target_defaults(cluster_mpich_finalize)
  endif()
endif()

# Slips of the programs of each model (slips_<model> SLIP), which shoal must name.
set(slips_programs "")
foreach(model IN ITEMS events flow graph memory objects)
  shoal_test_program(slips_${model} slips/${model}.cpp shoal::shoal)
  list(APPEND slips_programs slips_${model})
endforeach()
