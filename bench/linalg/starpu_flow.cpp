#include "linalg/starpu_flow.hpp"

#include <cblas.h>
#include <lapacke.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

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

// As in apps/common/flow_kernels.cpp.
void run_geqrt(void* buffers[], void* /*argument*/) {
  const Block a = block_of(buffers[0]);
  const Block t = block_of(buffers[1]);
  const Block v = block_of(buffers[2]);
  const int block = std::min({t.rows, a.rows, a.columns});
  std::vector<double> work(static_cast<std::size_t>(block) * static_cast<std::size_t>(a.columns));
  LAPACKE_dgeqrt_work(LAPACK_COL_MAJOR, a.rows, a.columns, block, a.values, a.stride, t.values,
                      t.stride, work.data());
  LAPACKE_dlacpy_work(LAPACK_COL_MAJOR, 'A', a.rows, a.columns, a.values, a.stride, v.values,
                      v.stride);
}

void run_gemqrt(void* buffers[], void* /*argument*/) {
  const Block v = block_of(buffers[0]);
  const Block t = block_of(buffers[1]);
  const Block c = block_of(buffers[2]);
  const int count = std::min(v.rows, v.columns);
  const int block = std::min(t.rows, count);
  std::vector<double> work(static_cast<std::size_t>(block) * static_cast<std::size_t>(c.columns));
  LAPACKE_dgemqrt_work(LAPACK_COL_MAJOR, 'L', 'T', c.rows, c.columns, count, block, v.values,
                       v.stride, t.values, t.stride, c.values, c.stride, work.data());
}

void run_tsqrt(void* buffers[], void* /*argument*/) {
  const Block r = block_of(buffers[0]);
  const Block b = block_of(buffers[1]);
  const Block t = block_of(buffers[2]);
  const int block = std::min(t.rows, b.columns);
  std::vector<double> work(static_cast<std::size_t>(block) * static_cast<std::size_t>(b.columns));
  LAPACKE_dtpqrt_work(LAPACK_COL_MAJOR, b.rows, b.columns, 0, block, r.values, r.stride, b.values,
                      b.stride, t.values, t.stride, work.data());
}

void run_tsmqr(void* buffers[], void* /*argument*/) {
  const Block v = block_of(buffers[0]);
  const Block t = block_of(buffers[1]);
  const Block a = block_of(buffers[2]);
  const Block b = block_of(buffers[3]);
  const int block = std::min(t.rows, v.columns);
  std::vector<double> work(static_cast<std::size_t>(block) * static_cast<std::size_t>(b.columns));
  LAPACKE_dtpmqrt_work(LAPACK_COL_MAJOR, 'L', 'T', b.rows, b.columns, v.columns, 0, block, v.values,
                       v.stride, t.values, t.stride, a.values, a.stride, b.values, b.stride,
                       work.data());
}

starpu_codelet make_codelet(const char* name, starpu_cpu_func_t function,
                            std::initializer_list<starpu_data_access_mode> modes) {
  starpu_codelet codelet{};
  starpu_codelet_init(&codelet);
  codelet.name = name;
  codelet.cpu_funcs[0] = function;
  codelet.nbuffers = static_cast<int>(modes.size());
  std::ranges::copy(modes, codelet.modes);
  return codelet;
}

}  // namespace

TileData::TileData(const Options& options, const Place& place, Shape shape, int tile_rows)
    : partition_(make_partition(options)),
      place_(place),
      shape_(shape),
      tile_rows_(tile_rows),
      tiles_(index(0, n())),
      handles_(index(0, n())) {
  for (int j = 0; j < n(); ++j) {
    for (int i = first(j); i < end(j); ++i) add(i, j);
  }
}

TileData::TileData(const Options& options, Matrix matrix, const Place& place, Shape shape)
    : TileData(options, place, shape) {
  own_blocks()([&](const Block& own) { fill(options, matrix, own); });
}

// Elsewhere a tile has a size, and memory when a task reads it.
void TileData::add(int i, int j) {
  const bool own = place_.grid.owner(i, j) == place_.rank;
  const int rows = tile_rows_ > 0 ? tile_rows_ : partition_.extent(i);
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
      for (int i = first(j); i < end(j); ++i) {
        if (place_.grid.owner(i, j) == place_.rank) visit(block(i, j));
      }
    }
  };
}

Codelets::Codelets()
    : potrf(make_codelet("potrf", run_potrf, {STARPU_RW})),
      trsm(make_codelet("trsm", run_trsm, {STARPU_R, STARPU_RW})),
      syrk(make_codelet("syrk", run_syrk, {STARPU_R, STARPU_RW})),
      update(make_codelet("update", run_update, {STARPU_R, STARPU_R, STARPU_RW})),
      product(make_codelet("product", run_product, {STARPU_R, STARPU_R, STARPU_RW})),
      geqrt(make_codelet("geqrt", run_geqrt, {STARPU_RW, STARPU_W, STARPU_W})),
      gemqrt(make_codelet("gemqrt", run_gemqrt, {STARPU_R, STARPU_R, STARPU_RW})),
      tsqrt(make_codelet("tsqrt", run_tsqrt, {STARPU_RW, STARPU_RW, STARPU_W})),
      tsmqr(make_codelet("tsmqr", run_tsmqr, {STARPU_R, STARPU_R, STARPU_RW, STARPU_RW})) {}

Problem::Problem(const Options& options, const TileData::Place& place)
    : answer(options, is_qr(options) ? Matrix::general : Matrix::spd, place,
             is_cholesky(options) ? TileData::Shape::lower : TileData::Shape::all) {
  if (is_cholesky(options)) return;
  if (is_qr(options)) {
    // As the application has it.
    constexpr int kReflectorBlock = 32;
    factors.emplace(options, place, TileData::Shape::lower,
                    std::min(options.tile, kReflectorBlock));
    diagonal.emplace(options, place, TileData::Shape::diagonal);
    return;
  }
  answer.set_zero();
  a.emplace(options, Matrix::first, place, TileData::Shape::all);
  b.emplace(options, Matrix::second, place, TileData::Shape::all);
}

}  // namespace linalg
