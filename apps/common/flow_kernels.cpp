#include "common/flow_kernels.hpp"

#include <cblas.h>
#include <lapacke.h>

#include <algorithm>
#include <vector>

namespace apps::kernels {
namespace {

template <class View>
int rows(const View& a) {
  return static_cast<int>(a.rows());
}
template <class View>
int columns(const View& a) {
  return static_cast<int>(a.columns());
}
template <class View>
int stride(const View& a) {
  return std::max(1, static_cast<int>(a.stride()));
}

// Column by column, within a narrow panel.
int getrf_panel(TileView a) {
  const std::size_t size = std::min(a.rows(), a.columns());
  for (std::size_t k = 0; k < size; ++k) {
    if (a(k, k) == 0) return static_cast<int>(k) + 1;
    const double inverse = 1 / a(k, k);
    for (std::size_t i = k + 1; i < a.rows(); ++i) a(i, k) *= inverse;
    for (std::size_t j = k + 1; j < a.columns(); ++j) {
      for (std::size_t i = k + 1; i < a.rows(); ++i) a(i, j) -= a(i, k) * a(k, j);
    }
  }
  return 0;
}

}  // namespace

int potrf(TileView a) {
  return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', rows(a), a.data(), stride(a));
}

void trsm_right_lower_transposed(ConstTileView l, TileView a) {
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, rows(a), columns(a),
              1.0, l.data(), stride(l), a.data(), stride(a));
}

void syrk(ConstTileView a, TileView c) {
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, rows(c), columns(a), -1.0, a.data(),
              stride(a), 1.0, c.data(), stride(c));
}

void gemm_transposed(ConstTileView a, ConstTileView b, TileView c) {
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, rows(c), columns(c), columns(a), -1.0,
              a.data(), stride(a), b.data(), stride(b), 1.0, c.data(), stride(c));
}

void gemm(ConstTileView a, ConstTileView b, TileView c) {
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, rows(c), columns(c), columns(a), -1.0,
              a.data(), stride(a), b.data(), stride(b), 1.0, c.data(), stride(c));
}

int getrf(TileView a) {
  constexpr std::size_t kPanel = 32;
  for (std::size_t k = 0; k < std::min(a.rows(), a.columns()); k += kPanel) {
    const std::size_t width = std::min(kPanel, a.columns() - k);
    const int zero = getrf_panel(a.block(k, k, a.rows() - k, width));
    if (zero != 0) return static_cast<int>(k) + zero;
    const std::size_t next = k + width;
    if (next >= a.columns()) break;
    const TileView right = a.block(k, next, width, a.columns() - next);
    trsm_left_unit_lower(a.block(k, k, width, width), right);
    if (next >= a.rows()) break;
    gemm(a.block(next, k, a.rows() - next, width), right,
         a.block(next, next, a.rows() - next, a.columns() - next));
  }
  return 0;
}

void trsm_left_unit_lower(ConstTileView l, TileView a) {
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, rows(a), columns(a),
              1.0, l.data(), stride(l), a.data(), stride(a));
}

void trsm_right_upper(ConstTileView u, TileView a) {
  cblas_dtrsm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, rows(a),
              columns(a), 1.0, u.data(), stride(u), a.data(), stride(a));
}

Tile unit_lower(ConstTileView a) {
  Tile tile = Tile::zeros(rows(a), columns(a));
  for (int j = 0; j < tile.columns(); ++j) {
    for (int i = j; i < tile.rows(); ++i) {
      tile(i, j) = i == j ? 1 : a(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
    }
  }
  return tile;
}

Tile upper(ConstTileView a) {
  Tile tile = Tile::zeros(rows(a), columns(a));
  for (int j = 0; j < tile.columns(); ++j) {
    for (int i = 0; i <= std::min(j, tile.rows() - 1); ++i) {
      tile(i, j) = a(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
    }
  }
  return tile;
}

ConstTileView view(const Tile& tile) {
  const auto count = static_cast<std::size_t>(tile.rows());
  return {tile.data(), count, static_cast<std::size_t>(tile.columns()), count};
}

int reflector_block(int columns) { return std::clamp(columns, 1, 32); }

void geqrt(TileView a, TileView t) {
  const int block = std::min({rows(t), rows(a), columns(a)});
  std::vector<double> work(static_cast<std::size_t>(block) * a.columns());
  LAPACKE_dgeqrt_work(LAPACK_COL_MAJOR, rows(a), columns(a), block, a.data(), stride(a), t.data(),
                      stride(t), work.data());
}

void gemqrt(bool transposed, ConstTileView v, ConstTileView t, TileView c) {
  const int count = std::min(rows(v), columns(v));
  const int block = std::min(rows(t), count);
  std::vector<double> work(static_cast<std::size_t>(block) * c.columns());
  LAPACKE_dgemqrt_work(LAPACK_COL_MAJOR, 'L', transposed ? 'T' : 'N', rows(c), columns(c), count,
                       block, v.data(), stride(v), t.data(), stride(t), c.data(), stride(c),
                       work.data());
}

void tsqrt(TileView r, TileView b, TileView t) {
  const int block = std::min(rows(t), columns(b));
  std::vector<double> work(static_cast<std::size_t>(block) * b.columns());
  LAPACKE_dtpqrt_work(LAPACK_COL_MAJOR, rows(b), columns(b), 0, block, r.data(), stride(r),
                      b.data(), stride(b), t.data(), stride(t), work.data());
}

void tsmqr(bool transposed, ConstTileView v, ConstTileView t, TileView a, TileView b) {
  const int block = std::min(rows(t), columns(v));
  std::vector<double> work(static_cast<std::size_t>(block) * b.columns());
  LAPACKE_dtpmqrt_work(LAPACK_COL_MAJOR, 'L', transposed ? 'T' : 'N', rows(b), columns(b),
                       columns(v), 0, block, v.data(), stride(v), t.data(), stride(t), a.data(),
                       stride(a), b.data(), stride(b), work.data());
}

void trsv_upper(ConstTileView r, TileView b) {
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, columns(r),
              columns(b), 1.0, r.data(), stride(r), b.data(), stride(b));
}

}  // namespace apps::kernels
