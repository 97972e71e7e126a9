#pragma once
// Norms of numbers of any size: the checks of results.

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace apps {

/// A sum of squares as scale^2 * sum. Neither do squares of large numbers overflow in it, nor those
/// of small ones vanish; a number that is not finite makes all norms of it NaN or infinite.
/// **Source**: dlassq of LAPACK.
class SumOfSquares {
 public:
  /// Adds `times` * value^2.
  void add(double value, double times = 1) {
    const double size = std::abs(value);
    if (size != 0) *this += SumOfSquares(size, times);
  }

  SumOfSquares& operator+=(const SumOfSquares& other) {
    if (other.scale_ == 0) return *this;
    if (scale_ >= other.scale_) {
      sum_ += other.scaled_to(scale_);
    } else {  // also without numbers, and for NaN
      sum_ = other.sum_ + scaled_to(other.scale_);
      scale_ = other.scale_;
    }
    return *this;
  }
  friend SumOfSquares operator+(SumOfSquares a, const SumOfSquares& b) { return a += b; }
  friend SumOfSquares operator*(double factor, SumOfSquares a) {
    a.sum_ *= factor;
    return a;
  }

  /// The square root of the sum.
  [[nodiscard]] double norm() const { return scale_ * std::sqrt(sum_); }
  /// norm() / other.norm(), also where one of them is too large for a number; 0 if both are 0. NaN
  /// or infinite if a number in either is not finite, or only other.norm() is 0: no error is small
  /// beside it.
  [[nodiscard]] double relative_to(const SumOfSquares& other) const {
    if (!std::isfinite(other.scale_)) return std::numeric_limits<double>::quiet_NaN();
    if (scale_ == 0 && other.scale_ == 0) return 0;
    return scale_ / other.scale_ * std::sqrt(sum_ / other.sum_);
  }
  /// norm() / (a.norm() b.norm()); see relative_to() of one.
  [[nodiscard]] double relative_to(const SumOfSquares& a, const SumOfSquares& b) const {
    SumOfSquares quotient;
    quotient.add(relative_to(a));
    return quotient.relative_to(b);
  }

  SumOfSquares() = default;

 private:
  SumOfSquares(double scale, double sum) : scale_(scale), sum_(sum) {}
  [[nodiscard]] double scaled_to(double scale) const {
    const double ratio = scale_ / scale;
    return sum_ * ratio * ratio;
  }

  double scale_ = 0;
  double sum_ = 0;
};

/// ||x - reference||_2 / ||reference||_2, for vectors of one length; see
/// SumOfSquares::relative_to().
[[nodiscard]] inline double relative_error(std::span<const double> x,
                                           std::span<const double> reference) {
  if (x.size() != reference.size()) return std::numeric_limits<double>::quiet_NaN();
  SumOfSquares error;
  SumOfSquares norm;
  for (std::size_t i = 0; i < x.size(); ++i) {
    error.add(x[i] - reference[i]);
    norm.add(reference[i]);
  }
  return error.relative_to(norm);
}

}  // namespace apps
