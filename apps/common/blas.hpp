#pragma once
// The few kernels of BLAS and LAPACK that the applications use, on tiles.

#include "common/tile.hpp"

namespace apps {

/// One call of BLAS uses `count` threads, or as many as there are processors if that is less. The
/// first caller of the process decides. Caller: each rank, before its first kernel.
void use_blas_threads(int count);
/// Changes the number of threads. Caller: one rank of the process, while no kernel runs.
void set_blas_threads(int count);
/// How many processors BLAS sees.
[[nodiscard]] int blas_processor_count();

/// A = L L^T; the lower triangle of `a` is replaced by L, the upper one is not touched. Returns 0,
/// or the order of the first leading minor that is not positive, counted from 1.
[[nodiscard]] int potrf(Tile& a);
/// A <- A L^-T, with L lower triangular.
void trsm(const Tile& l, Tile& a);
/// C <- C - A A^T, the lower triangle only.
void syrk(const Tile& a, Tile& c);
/// C <- C - A B^T.
void subtract_product_transposed(const Tile& a, const Tile& b, Tile& c);
/// C <- C + A B.
void add_product(const Tile& a, const Tile& b, Tile& c);
/// C <- C + A.
void add(const Tile& a, Tile& c);

}  // namespace apps
