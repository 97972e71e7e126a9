#include "common/blas.hpp"

#include <cblas.h>
#include <lapacke.h>

#include <algorithm>

namespace apps {

void use_blas_threads(int count) {
  // The number is a global variable of the library; the first of several ranks writes it, alone.
  static const int chosen = [count] {
    const int threads = std::min(count, blas_processor_count());
    openblas_set_num_threads(threads);
    return threads;
  }();
  static_cast<void>(chosen);
}

void set_blas_threads(int count) { openblas_set_num_threads(count); }

int blas_processor_count() { return openblas_get_num_procs(); }

int potrf(Tile& a) {
  return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', a.rows(), a.data(), a.rows());
}

void trsm(const Tile& l, Tile& a) {
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, a.rows(),
              a.columns(), 1.0, l.data(), l.rows(), a.data(), a.rows());
}

void syrk(const Tile& a, Tile& c) {
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, c.rows(), a.columns(), -1.0, a.data(),
              a.rows(), 1.0, c.data(), c.rows());
}

void subtract_product_transposed(const Tile& a, const Tile& b, Tile& c) {
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, c.rows(), c.columns(), a.columns(), -1.0,
              a.data(), a.rows(), b.data(), b.rows(), 1.0, c.data(), c.rows());
}

void add_product(const Tile& a, const Tile& b, Tile& c) {
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, c.rows(), c.columns(), a.columns(), 1.0,
              a.data(), a.rows(), b.data(), b.rows(), 1.0, c.data(), c.rows());
}

void add(const Tile& a, Tile& c) {
  const auto from = a.values();
  const auto to = c.values();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

}  // namespace apps
