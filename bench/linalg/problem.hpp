#pragma once
// The factorizations and the matrix product: configuration and checks of all sides.

#include <functional>
#include <string>
#include <vector>

#include "common/block_partition.hpp"
#include "ranks/program.hpp"

namespace linalg {

struct Options {
  std::string kernel;
  int size = 2048;
  int tile = 256;
  double rho = 1;  // largest block / average block
  bench::RunOptions run;
};

/// Adds the kernel, --n, --tile, --random-blocks and those of a run.
void add_options(cli::App& app, Options& options);

[[nodiscard]] apps::BlockPartition make_partition(const Options& options);
[[nodiscard]] inline bool is_cholesky(const Options& options) {
  return options.kernel == "cholesky";
}
[[nodiscard]] inline bool is_qr(const Options& options) { return options.kernel == "qr"; }

/// Each call of BLAS in this process uses one thread from now on.
void use_one_blas_thread();

/// Ranks in rows and columns: block (i, j) belongs to the rank in row i % rows, column j % columns.
struct Grid {
  int rows = 1;
  int columns = 1;

  /// The one nearest to a square that uses all ranks, with no more rows than columns.
  static Grid near_square(int ranks);
  [[nodiscard]] int owner(int i, int j) const { return i % rows * columns + j % columns; }
};

/// A block of a matrix, column-major; `stride` elements from a column to the next.
struct Block {
  int row = 0;
  int column = 0;
  int rows = 0;
  int columns = 0;
  double* values = nullptr;
  int stride = 0;
};

/// spd and general are those that Cholesky and QR factor; first and second are the factors of the
/// product.
enum class Matrix { spd, general, first, second };

/// The part of a matrix that the block covers: the same elements as in the applications.
void fill(const Options& options, Matrix matrix, const Block& block);

/// Calls its argument for each block of the answer that this rank has.
using Blocks = std::function<void(const std::function<void(const Block&)>&)>;
/// Sums each element over all ranks.
using Sum = std::function<void(std::vector<double>&)>;

/// Whether the blocks are those of L or R, without the other side of the diagonal, or of C:
/// multiplies a random vector by the answer and by what was given.
[[nodiscard]] bool is_right(const Options& options, const Blocks& answer, const Sum& sum);

/// Prints the result of all ranks; `config` is what the side adds to the options. Returns the exit
/// code. `copies` is how many times the problem was solved in the time of the sample.
int finish(const Options& options, const std::string& side, const bench::Sample& sample,
           bench::Values config, int copies = 1);

}  // namespace linalg
