# How shoal is compiled where the project that adds it has no build type, and a warning that this
# project then gets no optimized code. Read by shoal's own build and by shoalConfig.cmake.

# shoal_has_optimization(<out>): whether an optimization was chosen, or its absence.
function(shoal_has_optimization out)
  set(${out} OFF PARENT_SCOPE)
  get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  get_directory_property(options COMPILE_OPTIONS)
  if(multi_config OR CMAKE_BUILD_TYPE OR "${CMAKE_CXX_FLAGS} ${options}" MATCHES "-O[0-9gsf]")
    set(${out} ON PARENT_SCOPE)
  endif()
endfunction()

# Once per run of CMake. SHOAL_WARN_BUILD_TYPE=OFF silences it.
function(shoal_warn_build_type)
  get_property(warned GLOBAL PROPERTY SHOAL_WARNED_BUILD_TYPE)
  if(warned OR (DEFINED SHOAL_WARN_BUILD_TYPE AND NOT SHOAL_WARN_BUILD_TYPE))
    return()
  endif()
  set_property(GLOBAL PROPERTY SHOAL_WARNED_BUILD_TYPE ON)
  message(
    WARNING
      "This project has no build type: its own code is compiled without optimization, and with it "
      "the templates of shoal's headers, which are compiled as part of it. A task then takes ten "
      "times as long. shoal's libraries are optimized all the same. Configure with "
      "-DCMAKE_BUILD_TYPE=Release, or silence this with -DSHOAL_WARN_BUILD_TYPE=OFF.")
endfunction()

shoal_has_optimization(shoal_optimization_chosen)
if(NOT shoal_optimization_chosen)
  shoal_warn_build_type()
endif()
