#include "linalg/starpu_flow.hpp"

#include <cblas.h>
#include <lapacke.h>

#include <algorithm>
#include <cstdint>

namespace linalg {

namespace {

Block block_of(void* buffer) {
  return {.rows = static_cast<int>(STARPU_MATRIX_GET_NX(buffer)),
          .columns = static_cast<int>(STARPU_MATRIX_GET_NY(buffer)),
          .values = reinterpret_cast<double*>(STARPU_MATRIX_GET_PTR(buffer)),
          .stride = static_cast<int>(STARPU_MATRIX_GET_LD(buffer))};
}

// A matrix that is not positive definite gives a wrong answer.
void run_potrf(void* buffers[], void* /*argument*/) {
  const Block a = block_of(buffers[0]);
  static_cast<void>(LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', a.rows, a.values, a.stride));
}

void run_trsm(void* buffers[], void* /*argument*/) {
  const Block l = block_of(buffers[0]);
  const Block a = block_of(buffers[1]);
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, a.rows, a.columns,
              1.0, l.values, l.stride, a.values, a.stride);
}

void run_syrk(void* buffers[], void* /*argument*/) {
  const Block a = block_of(buffers[0]);
  const Block c = block_of(buffers[1]);
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, c.rows, a.columns, -1.0, a.values, a.stride,
              1.0, c.values, c.stride);
}

void add_product(void* buffers[], CBLAS_TRANSPOSE transpose, double factor) {
  const Block a = block_of(buffers[0]);
  const Block b = block_of(buffers[1]);
  const Block c = block_of(buffers[2]);
  cblas_dgemm(CblasColMajor, CblasNoTrans, transpose, c.rows, c.columns, a.columns, factor,
              a.values, a.stride, b.values, b.stride, 1.0, c.values, c.stride);
}

void run_update(void* buffers[], void* /*argument*/) { add_product(buffers, CblasTrans, -1.0); }
void run_product(void* buffers[], void* /*argument*/) { add_product(buffers, CblasNoTrans, 1.0); }

starpu_codelet make_codelet(const char* name, starpu_cpu_func_t function, int reads) {
  starpu_codelet codelet{};
  starpu_codelet_init(&codelet);
  codelet.name = name;
  codelet.cpu_funcs[0] = function;
  codelet.nbuffers = reads + 1;
  std::fill_n(codelet.modes, reads, STARPU_R);
  codelet.modes[reads] = STARPU_RW;
  return codelet;
}

}  // namespace

TileData::TileData(const Options& options, Matrix matrix, const Place& place, bool triangle)
    : partition_(make_partition(options)),
      place_(place),
      triangle_(triangle),
      tiles_(index(0, n())),
      handles_(index(0, n())) {
  for (int j = 0; j < n(); ++j) {
    for (int i = triangle ? j : 0; i < n(); ++i) add(i, j);
  }
  own_blocks()([&](const Block& own) { fill(options, matrix, own); });
}

// Elsewhere a tile has a size, and memory when a task reads it.
void TileData::add(int i, int j) {
  const bool own = place_.grid.owner(i, j) == place_.rank;
  const int rows = partition_.extent(i);
  const int columns = partition_.extent(j);
  if (own) tiles_[index(i, j)] = apps::Tile(rows, columns);
  starpu_matrix_data_register(&handles_[index(i, j)], own ? STARPU_MAIN_RAM : -1,
                              reinterpret_cast<std::uintptr_t>(tiles_[index(i, j)].data()),
                              static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(rows),
                              static_cast<std::uint32_t>(columns), sizeof(double));
}

TileData::~TileData() {
  for_each([](starpu_data_handle_t handle, int /*owner*/) { starpu_data_unregister(handle); });
}

void TileData::set_zero() {
  own_blocks()([](const Block& own) {
    std::fill_n(own.values, static_cast<std::ptrdiff_t>(own.rows) * own.columns, 0.0);
  });
}

Block TileData::block(int i, int j) {
  apps::Tile& tile = tiles_[index(i, j)];
  return {partition_.offset(i), partition_.offset(j), tile.rows(),
          tile.columns(),       tile.data(),          tile.rows()};
}

Blocks TileData::own_blocks() {
  return [this](const std::function<void(const Block&)>& visit) {
    for (int j = 0; j < n(); ++j) {
      for (int i = triangle_ ? j : 0; i < n(); ++i) {
        if (place_.grid.owner(i, j) == place_.rank) visit(block(i, j));
      }
    }
  };
}

Codelets::Codelets()
    : potrf(make_codelet("potrf", run_potrf, 0)),
      trsm(make_codelet("trsm", run_trsm, 1)),
      syrk(make_codelet("syrk", run_syrk, 1)),
      update(make_codelet("update", run_update, 2)),
      product(make_codelet("product", run_product, 2)) {}

Problem::Problem(const Options& options, const TileData::Place& place)
    : answer(options, Matrix::spd, place, is_cholesky(options)) {
  if (is_cholesky(options)) return;
  answer.set_zero();
  a.emplace(options, Matrix::first, place, false);
  b.emplace(options, Matrix::second, place, false);
}

}  // namespace linalg
