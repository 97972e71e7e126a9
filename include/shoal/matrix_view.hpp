#pragma once
// Views of matrices, as data of flows and as arguments.

#include <shoal/detail/base/language.hpp>

#include <cstddef>
#include <type_traits>

namespace shoal {

/// A view of a matrix: column-major, `stride` elements from one column to the next.
template <class T>
class MatrixView {
 public:
  /// Makes a view without elements.
  MatrixView() = default;
  /// Makes a view of the matrix at `data`; `stride` is the leading dimension.
  MatrixView(T* data, std::size_t rows, std::size_t columns, std::size_t stride)
      : data_(data), rows_(rows), columns_(columns), stride_(stride) {}
  /// Converts to a view of the same elements through which they cannot be changed.
  // NOLINTNEXTLINE(google-explicit-constructor): as a pointer to const
  operator MatrixView<const T>() const
    requires(!std::is_const_v<T>)
  {
    return {data_, rows_, columns_, stride_};
  }

  /// Address of the first element.
  [[nodiscard]] T* data() const { return data_; }
  /// Extent of a column.
  [[nodiscard]] std::size_t rows() const { return rows_; }
  /// Number of columns.
  [[nodiscard]] std::size_t columns() const { return columns_; }
  /// Elements from one column to the next.
  [[nodiscard]] std::size_t stride() const { return stride_; }
  /// Returns whether there are no gaps between the columns.
  [[nodiscard]] bool is_contiguous() const { return stride_ == rows_ || columns_ <= 1; }
  /// Element of row i and column j, from 0.
  [[nodiscard]] T& operator()(std::size_t i, std::size_t j) const { return data_[j * stride_ + i]; }
  /// The part of `rows` x `columns` elements that begins at (i, j).
  [[nodiscard]] MatrixView block(std::size_t i, std::size_t j, std::size_t rows,
                                 std::size_t columns) const {
    return {data_ == nullptr ? nullptr : data_ + j * stride_ + i, rows, columns, stride_};
  }

 private:
  T* data_ = nullptr;
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  std::size_t stride_ = 0;
};

}  // namespace shoal
