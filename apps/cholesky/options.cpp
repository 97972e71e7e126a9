#include "cholesky/options.hpp"

namespace cholesky {

void add_options(cli::App& app, Options& options) {
  apps::add_common_options(app, options.common);
  apps::add_grid_option(app, options.grid);
  app.add_option("--matrix", options.matrix, "Factor the symmetric matrix of this .mtx file")
      ->option_text("FILE")
      ->excludes("--n");
  app.add_option("--random-blocks", options.rho,
                 "Tiles of random sizes: largest / average, from 1 to 2")
      ->option_text("RHO");
  app.add_flag("--compare-lapack", options.compare_lapack, "Time LAPACK on the same matrix");
  app.add_flag("--no-priorities", options.ignore_priorities,
               "All tasks are equally important: shows what priorities gain");
  app.add_flag("--checksum", options.checksum, "Print a hash of the bits of the factor");
}

}  // namespace cholesky
