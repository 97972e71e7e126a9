#pragma once
// Options of `cholesky`.

#include <string>
#include "cli/command_line.hpp"

#include "common/options.hpp"

namespace cholesky {

struct Options {
  apps::CommonOptions common;
  std::string grid;
  std::string matrix;  // a Matrix Market file; empty: a random matrix
  double rho = 1;      // largest block / average block; 1: equal blocks
  bool compare_lapack = false;
  bool checksum = false;
  bool ignore_priorities = false;
};

/// Adds all options to `app`.
void add_options(cli::App& app, Options& options);

}  // namespace cholesky
