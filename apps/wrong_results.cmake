# Planted errors: each application must say that its result is wrong, and end with exit code 1.
# Included by apps/tests.cmake. The same runs without an error are tests of their own.

# shoal_add_wrong_result(<name> <file of apps/> <from> <to> RUN <argument>... [RUN ...]...)
# The application of that folder gets a copy of the file in which the text <from>, which must stand
# in it once, became <to>. It runs with each list of arguments.
function(shoal_add_wrong_result name file from to)
  cmake_path(GET file PARENT_PATH app)
  if(NOT TARGET ${app})
    return()
  endif()
  set(program wrong_${name})
  shoal_planted_bug(${program} "${PROJECT_SOURCE_DIR}/apps/${file}" "${from}" "${to}"
                    shoal_app_${app}_main copy)
  add_executable(${program} "${copy}")
  shoal_test_defaults(${program} shoal_app_${app} shoal_apps_common shoal::shoal)
  if(NOT file MATCHES "main.cpp$")
    target_sources(${program} PRIVATE $<TARGET_OBJECTS:shoal_app_${app}_main>)
  endif()
  set(number 0)
  set(arguments "")
  foreach(word IN LISTS ARGN ITEMS RUN)
    if(NOT word STREQUAL "RUN")
      list(APPEND arguments ${word})
      continue()
    endif()
    if(arguments)
      math(EXPR number "${number} + 1")
      add_test(NAME apps.wrong_${name}.${number}
               COMMAND "${CMAKE_COMMAND}" "-DCOMMAND=$<TARGET_FILE:${program}>;${arguments}"
                       -DREAD_OUTPUT=ON "-DPATTERN=WRONG|wrong|BAD" -DTIMES=1 -DCODE=1
                       -P "${PROJECT_SOURCE_DIR}/apps/expect_error.cmake")
      shoal_test_properties(apps.wrong_${name}.${number} apps 60 PROCESSORS 2)
    endif()
    set(arguments "")
  endforeach()
endfunction()

# --- tiles

# One tile of the factor is not final, or an update of one reads another tile of the panel.
shoal_add_wrong_result(
  cholesky_tile cholesky/factorization.cpp
  "[&] { apps::trsm(tiles_.at(k, k), tiles_.at(i, k)); }"
  "[&] { if (i != 3 || k != 1) apps::trsm(tiles_.at(k, k), tiles_.at(i, k)); }" RUN --ranks 4 --n
  200 --tile 20
  RUN --sim --ranks 4 --n 300 --tile 50)
shoal_add_wrong_result(
  cholesky_update cholesky/factorization.cpp
  "subtract_product_transposed(tiles_.at(i, k), tiles_.at(j, k)"
  "subtract_product_transposed(tiles_.at(i, k), tiles_.at(k == 1 && i == 4 ? i : j, k)" RUN --ranks
  4 --n 200 --tile 20
  RUN --sim --ranks 4 --n 300 --tile 50)

# A row of tiles of B is another one.
shoal_add_wrong_result(
  gemm2d_tile gemm2d/product_2d.cpp "b_.put(i, j, factors.b(i, j));"
  "b_.put(i, j, factors.b(i == 3 ? 2 : i, j));" RUN --ranks 4 --n 200 --tile 20
  RUN --sim --ranks 4 --n 300 --tile 50 --mode blas)

# --- distributed objects

# One of the rows that neighbours exchange is the wrong one.
shoal_add_wrong_result(
  jacobi jacobi/main.cpp "Rank(rank() - 1), row(1))" "Rank(rank() - 1), row(2))" RUN --ranks 4 --n
  40 --iterations 20)

# One point of each rank is left out.
shoal_add_wrong_result(
  kmeans kmeans/main.cpp "own.add(centres(), one);"
  "if (&one != points_.data()) own.add(centres(), one);"
  RUN --ranks 4 --points 2000 --clusters 5
  RUN --ranks 4 --points 2000 --copy)

# One rank adds one element less to a scalar product.
shoal_add_wrong_result(
  nas_cg nas_cg/main.cpp "inner_product(a.begin(), a.end()"
  "inner_product(a.begin() + (rank() == 1 ? 1 : 0), a.end()" RUN --ranks 4 --class S)

# A rank has an edge less, and some vertex is further away or has a heavier least edge.
shoal_add_wrong_result(
  hub_bfs hub_bfs/placement.cpp "if (holder(b, a, edge) == rank)"
  "if (b > 100 && holder(b, a, edge) == rank)"
  RUN --ranks 4 --vertices 500 --strategy everywhere
  RUN --ranks 4 --vertices 500 --strategy flat
  RUN --ranks 4 --vertices 500 --strategy striped --problem lightest-edges)

# A label is lost now and then.
shoal_add_wrong_result(
  components components/main.cpp "if (label >= own) return;"
  "if (label >= own || visits_ % 20 == 0) return;"
  RUN --ranks 4 --vertices 700
  RUN --ranks 4 --vertices 700 --no-tunnel)

# One element of each rank is left out.
shoal_add_wrong_result(
  saxpy saxpy/main.cpp "for (std::size_t i = 0; i < x.local().size(); ++i) y.local()[i] +="
  "for (std::size_t i = 1; i < x.local().size(); ++i) y.local()[i] +="
  RUN --ranks 4 --n 5000
  RUN --ranks 4 --n 5000 --levels 0)

# All elements are one too large.
shoal_add_wrong_result(
  min_element min_element/main.cpp "= element(which, inner.index_of(i));"
  "= element(which, inner.index_of(i)) + 1;"
  RUN --ranks 4 --step 500 --count 6
  RUN --ranks 4 --step 500 --flat)

# --- global memory

# An update is lost, once.
shoal_add_wrong_result(
  gups_lost gups/updates.cpp "numbers[i] = random_number(options_.seed, first + done + i);"
  "numbers[i] = random_number(options_.seed, first + done + i);
        if (static std::atomic<int> count = 0; ++count == 1000) numbers[i] = 0;"
  RUN --ranks 4 --log-size 12)

# An update is lost each time, so that the table is restored all the same.
shoal_add_wrong_result(
  gups_skipped gups/updates.cpp "numbers[i] = random_number(options_.seed, first + done + i);"
  "numbers[i] = random_number(options_.seed, first + done + i);
        if (first + done + i == 1000) numbers[i] = 0;"
  RUN --ranks 4 --log-size 12)

# A word is not as it should be when it is read.
shoal_add_wrong_result(
  gups_gather gups/updates.cpp "    world.barrier();\n  }"
  "    local[0] += 1;\n    world.barrier();\n  }" RUN --ranks 4 --log-size 12 --gather)

# One element of the solution is wrong, or no number.
shoal_add_wrong_result(
  sparse_solve_value sparse_solve/solve.cpp "here_[index(row)] = solve_row("
  "here_[index(row)] = (row == 77 ? 1 + 1e-15 : 1.0) * solve_row(" RUN --ranks 4 --grid 20)
shoal_add_wrong_result(
  sparse_solve_nan sparse_solve/solve.cpp "return x;\n"
  "x[77] = __builtin_nan(\"\");\n  return x;\n" RUN --ranks 4 --grid 20)

# The bodies of one rank do not attract those of the others.
shoal_add_wrong_result(
  barnes_hut barnes_hut/simulation.cpp "if (!root) continue;"
  "if (!root || root.rank() == 1) continue;" RUN --ranks 4 --bodies 1000)

# The next band's cross sections are not waited for, or are those of the band before.
shoal_add_wrong_result(
  ebms_early ebms/transport.cpp "      transfer.wait();\n" "" RUN --sim --ranks 4 --particles 2000
  RUN --sim --ranks 4 --particles 2000 --prefetch)
shoal_add_wrong_result(
  ebms_band ebms/transport.cpp "std::swap(data, next);" "if (band != 3) std::swap(data, next);"
  RUN --ranks 4 --particles 2000
  RUN --ranks 4 --particles 2000 --prefetch)

# The first particle of a group is left out in each band.
shoal_add_wrong_result(
  ebms_skipped ebms/transport.cpp "i = g * options_.group;" "i = g * options_.group + g % 2;"
  RUN --ranks 4 --particles 2000)

# One particle ends in another way, and all counts are as they should be.
shoal_add_wrong_result(
  ebms_end ebms/transport.cpp "if (observer_) observer_("
  "if (!has_left && particles_[i].id == 77) tallies[g].ends += 1;
          if (observer_) observer_(" RUN --ranks 4 --particles 2000)

# --- numbers whose squares overflow or vanish

shoal_add_wrong_result(
  least_squares_solution least_squares/solver.cpp
  "values[static_cast<std::size_t>(at)] = tile(row, 0);"
  "values[static_cast<std::size_t>(at)] = 1.001 * tile(row, 0);" RUN --n 40 --tile 16 --ranks 2
  RUN "${small_data}/tall_large.mtx" --tile 2
  RUN "${small_data}/tall_huge.mtx" --tile 2 RUN "${small_data}/tall_tiny.mtx" --tile 2)
