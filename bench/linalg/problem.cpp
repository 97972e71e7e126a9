#include "linalg/problem.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include "cli/command_line.hpp"

#include "common/random_matrix.hpp"
#include "common/sum_of_squares.hpp"

namespace linalg {

namespace {

constexpr std::uint64_t kSeed = 1;
constexpr double kErrorMax = 1e-12;

double element(const Options& options, Matrix matrix, int row, int column) {
  switch (matrix) {
    case Matrix::first:
      return apps::random_element(2 * kSeed, row, column);
    case Matrix::second:
      return apps::random_element(2 * kSeed + 1, row, column);
    case Matrix::general:
      return apps::random_element(kSeed, row, column);
    case Matrix::spd:
      break;
  }
  return apps::random_spd_element(kSeed, options.size, row, column);
}

// Elements of a block that count; symmetric: the lower ones, for those above the diagonal as well.
enum class Part { all, lower, upper, symmetric };
enum class Use { plain, transposed };

// y += block x, both vectors being those of the whole matrix.
void add_product(const Block& block, Part part, Use use, const std::vector<double>& x,
                 std::vector<double>& y) {
  for (int j = 0; j < block.columns; ++j) {
    const int column = block.column + j;
    for (int i = 0; i < block.rows; ++i) {
      const int row = block.row + i;
      if (part == Part::upper && row > column) continue;
      if ((part == Part::lower || part == Part::symmetric) && row < column) continue;
      const double value = block.values[static_cast<std::ptrdiff_t>(j) * block.stride + i];
      const auto down = static_cast<std::size_t>(row);
      const auto along = static_cast<std::size_t>(column);
      if (use == Use::plain) y[down] += value * x[along];
      const bool mirrored = part == Part::symmetric && row != column;
      if (use == Use::transposed || mirrored) y[along] += value * x[down];
    }
  }
}

class Check {
 public:
  Check(const Options& options, const Blocks& answer, const Sum& sum)
      : options_(options), answer_(answer), sum_(sum) {}

  [[nodiscard]] std::vector<double> by_answer(Part part, Use use,
                                              const std::vector<double>& x) const {
    return product(x, [&](const Block& block, std::vector<double>& y) {
      add_product(block, part, use, x, y);
    });
  }

  [[nodiscard]] std::vector<double> by_given(Matrix matrix, const std::vector<double>& x,
                                             Use use = Use::plain) const {
    const Part part = matrix == Matrix::spd ? Part::symmetric : Part::all;
    return product(x, [&](const Block& block, std::vector<double>& y) {
      std::vector<double> values(static_cast<std::size_t>(block.rows) *
                                 static_cast<std::size_t>(block.columns));
      Block given = block;
      given.values = values.data();
      given.stride = block.rows;
      fill(options_, matrix, given);
      add_product(given, part, use, x, y);
    });
  }

 private:
  template <class Add>
  std::vector<double> product(const std::vector<double>& x, Add add) const {
    std::vector<double> y(x.size());
    answer_([&](const Block& block) { add(block, y); });
    sum_(y);
    return y;
  }

  const Options& options_;
  const Blocks& answer_;
  const Sum& sum_;
};

double gflop(const Options& options) {
  const double n = options.size;
  if (is_cholesky(options)) return (n * n * n / 3 + n * n / 2 + n / 6) * 1e-9;
  return (is_qr(options) ? 4.0 / 3 : 2.0) * n * n * n * 1e-9;
}

}  // namespace

void add_options(cli::App& app, Options& options) {
  add_run_options(app, options.run);
  app.add_option("kernel", options.kernel, "Kernel to measure")
      ->required()
      ->check(cli::one_of({"cholesky", "qr", "gemm"}));
  app.add_option("--n", options.size, "Rows of the matrix")->check(cli::range(1, 1 << 20));
  app.add_option("--tile", options.tile, "Rows of a block")->check(cli::range(1, 1 << 20));
  app.add_option("--random-blocks", options.rho, "Random sizes of blocks: largest / average")
      ->check(cli::range(1.0, 2.0));
}

apps::BlockPartition make_partition(const Options& options) {
  if (options.rho == 1) return apps::BlockPartition::uniform(options.size, options.tile);
  return apps::BlockPartition::random(options.size, options.tile, options.rho, kSeed);
}

void use_one_blas_thread() { openblas_set_num_threads(1); }

Grid Grid::near_square(int ranks) {
  int rows = static_cast<int>(std::sqrt(ranks));
  while (ranks % rows != 0) --rows;
  return {rows, ranks / rows};
}

void fill(const Options& options, Matrix matrix, const Block& block) {
  for (int j = 0; j < block.columns; ++j) {
    double* const column = block.values + static_cast<std::ptrdiff_t>(j) * block.stride;
    for (int i = 0; i < block.rows; ++i) {
      column[i] = element(options, matrix, block.row + i, block.column + j);
    }
  }
}

bool is_right(const Options& options, const Blocks& answer, const Sum& sum) {
  const Check check(options, answer, sum);
  std::vector<double> x(static_cast<std::size_t>(options.size));
  for (int i = 0; i < options.size; ++i) {
    x[static_cast<std::size_t>(i)] = apps::random_element(3 * kSeed, i, 0);
  }
  if (is_cholesky(options)) {
    const auto half = check.by_answer(Part::lower, Use::transposed, x);
    const auto found = check.by_answer(Part::lower, Use::plain, half);
    return apps::relative_error(found, check.by_given(Matrix::spd, x)) <= kErrorMax;
  }
  if (is_qr(options)) {  // R^T R = A^T A
    const auto half = check.by_answer(Part::upper, Use::plain, x);
    const auto found = check.by_answer(Part::upper, Use::transposed, half);
    const auto reference =
        check.by_given(Matrix::general, check.by_given(Matrix::general, x), Use::transposed);
    return apps::relative_error(found, reference) <= kErrorMax;
  }
  const auto reference = check.by_given(Matrix::first, check.by_given(Matrix::second, x));
  return apps::relative_error(check.by_answer(Part::all, Use::plain, x), reference) <= kErrorMax;
}

int finish(const Options& options, const std::string& side, const bench::Sample& sample,
           bench::Values config, int copies) {
  const bench::Values told{{"n", options.size},
                           {"tile", options.tile},
                           {"random_blocks", options.rho},
                           {"blas", std::string(openblas_get_config())},
                           {"repeat", options.run.repeat}};
  config.insert(config.end(), told.begin(), told.end());
  const double rate = copies * gflop(options) / sample.seconds;
  return bench::finish(
      {options.kernel, side, {{"gflops", rate}, {"seconds", sample.seconds}}, config},
      sample.verified);
}

}  // namespace linalg
