#pragma once
// Kernels of BLAS and LAPACK on tiles of a flow.

#include "common/flow_matrix.hpp"

namespace apps::kernels {

/// A = L L^T, as apps::potrf().
[[nodiscard]] int potrf(TileView a);
/// A <- A L^-T, with L lower triangular.
void trsm_right_lower_transposed(ConstTileView l, TileView a);
/// C <- C - A A^T, the lower triangle only.
void syrk(ConstTileView a, TileView c);
/// C <- C - A B^T.
void gemm_transposed(ConstTileView a, ConstTileView b, TileView c);
/// C <- C - A B.
void gemm(ConstTileView a, ConstTileView b, TileView c);

/// A = L U without pivoting, L with a unit diagonal, both in the place of A. Returns 0, or the
/// number of the first zero pivot, counted from 1.
[[nodiscard]] int getrf(TileView a);
/// A <- L^-1 A, with L unit lower triangular.
void trsm_left_unit_lower(ConstTileView l, TileView a);
/// A <- A U^-1, with U upper triangular.
void trsm_right_upper(ConstTileView u, TileView a);
/// Copies of triangles, for checks.
[[nodiscard]] Tile unit_lower(ConstTileView a);
[[nodiscard]] Tile upper(ConstTileView a);
[[nodiscard]] ConstTileView view(const Tile& tile);

/// Width of the blocks of reflectors in a tile of so many columns.
[[nodiscard]] int reflector_block(int columns);
/// A = Q R: the reflectors are below R in A, their triangular factors in `t`.
void geqrt(TileView a, TileView t);
/// C <- Q^T C, or Q C, with the reflectors of geqrt().
void gemqrt(bool transposed, ConstTileView v, ConstTileView t, TileView c);
/// [R; B] = Q [R'; 0] with R upper triangular: the reflectors take the place of B.
void tsqrt(TileView r, TileView b, TileView t);
/// [A; B] <- Q^T [A; B], or Q [A; B], with the reflectors of tsqrt().
void tsmqr(bool transposed, ConstTileView v, ConstTileView t, TileView a, TileView b);
/// b <- R^-1 b, with R upper triangular.
void trsv_upper(ConstTileView r, TileView b);

}  // namespace apps::kernels
