#pragma once
// Tiles: small dense matrices, the unit of work and of communication.

#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace apps {

/// A dense matrix, column-major, without gaps between columns, aligned to a cache line: the same
/// layout on every rank, so that the same BLAS call gives the same bits everywhere.
class Tile {
 public:
  /// No elements: a place where a tile may be put.
  Tile() = default;
  /// Elements are not initialized.
  Tile(int rows, int columns) : rows_(rows), columns_(columns), values_(allocate(count())) {}
  /// All elements are zero.
  static Tile zeros(int rows, int columns);

  [[nodiscard]] int rows() const { return rows_; }
  [[nodiscard]] int columns() const { return columns_; }
  [[nodiscard]] bool empty() const { return values_ == nullptr; }
  [[nodiscard]] double* data() { return values_.get(); }
  [[nodiscard]] const double* data() const { return values_.get(); }
  [[nodiscard]] std::span<double> values() { return {data(), count()}; }
  [[nodiscard]] std::span<const double> values() const { return {data(), count()}; }
  [[nodiscard]] double& operator()(int i, int j) { return data()[index(i, j)]; }
  [[nodiscard]] double operator()(int i, int j) const { return data()[index(i, j)]; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(double* values) const { ::operator delete(values, kAlignment); }
  };

  static double* allocate(std::size_t count) {
    return static_cast<double*>(::operator new(count * sizeof(double), kAlignment));
  }
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns_);
  }
  [[nodiscard]] std::size_t index(int i, int j) const {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(rows_) +
           static_cast<std::size_t>(i);
  }

  int rows_ = 0;
  int columns_ = 0;
  std::unique_ptr<double[], Free> values_;
};

/// The sum of the squares of all elements.
[[nodiscard]] double sum_of_squares(const Tile& tile);
/// The same for a symmetric matrix of which only the lower triangle is stored.
[[nodiscard]] double sum_of_squares_symmetric(const Tile& tile);

}  // namespace apps
