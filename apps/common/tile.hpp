#pragma once
// Tiles: small dense matrices, the unit of work and of communication.

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "common/sum_of_squares.hpp"

namespace apps {

/// Allocator of tiles: aligned to a cache line, so that the same BLAS call gives the same bits on
/// every rank. Elements that get no value are not written: those of a copy come by the transport.
template <class T>
struct TileMemory {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};

  TileMemory() = default;
  template <class U>
  TileMemory(const TileMemory<U>& /*other*/) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kAlignment));
  }
  void deallocate(T* values, std::size_t /*count*/) { ::operator delete(values, kAlignment); }
  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  friend bool operator==(const TileMemory& /*a*/, const TileMemory& /*b*/) { return true; }
};

/// Elements of a tile, as they travel.
using TileValues = std::vector<double, TileMemory<double>>;

/// A dense matrix, column-major, without gaps between columns.
class Tile {
 public:
  /// No elements: a place where a tile may be put.
  Tile() = default;
  /// Elements are not initialized.
  Tile(int rows, int columns)
      : rows_(rows), columns_(columns), values_(std::make_shared<TileValues>(count())) {}
  /// A tile with elements that others read as well: none of them writes to it.
  Tile(int rows, int columns, const std::shared_ptr<const TileValues>& values)
      : rows_(rows), columns_(columns), values_(std::const_pointer_cast<TileValues>(values)) {}
  Tile(Tile&&) = default;
  Tile& operator=(Tile&&) = default;
  Tile(const Tile&) = delete;
  Tile& operator=(const Tile&) = delete;
  ~Tile() = default;
  /// All elements are zero.
  static Tile zeros(int rows, int columns);

  [[nodiscard]] int rows() const { return rows_; }
  [[nodiscard]] int columns() const { return columns_; }
  [[nodiscard]] bool empty() const { return values_ == nullptr; }
  [[nodiscard]] double* data() { return empty() ? nullptr : values_->data(); }
  [[nodiscard]] const double* data() const { return empty() ? nullptr : values_->data(); }
  [[nodiscard]] std::span<double> values() { return {data(), count()}; }
  [[nodiscard]] std::span<const double> values() const { return {data(), count()}; }
  [[nodiscard]] double& operator()(int i, int j) { return (*values_)[index(i, j)]; }
  [[nodiscard]] double operator()(int i, int j) const { return (*values_)[index(i, j)]; }
  /// The elements themselves, which no one writes from now on.
  [[nodiscard]] std::shared_ptr<const TileValues> share() const { return values_; }

 private:
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns_);
  }
  [[nodiscard]] std::size_t index(int i, int j) const {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(rows_) +
           static_cast<std::size_t>(i);
  }

  int rows_ = 0;
  int columns_ = 0;
  std::shared_ptr<TileValues> values_;
};

/// The sum of the squares of all elements.
[[nodiscard]] SumOfSquares sum_of_squares(const Tile& tile);
/// The same for a symmetric matrix of which only the lower triangle is stored.
[[nodiscard]] SumOfSquares sum_of_squares_symmetric(const Tile& tile);

}  // namespace apps
