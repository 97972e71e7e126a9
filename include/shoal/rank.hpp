#pragma once
// Strong integer types: made explicitly from an int, read implicitly as one, never mixed with each
// other.

#include <shoal/detail/base/language.hpp>

#include <compare>
#include <cstdint>
#include <string>

namespace shoal {

namespace detail {

template <class Tag>
class StrongId {
 public:
  constexpr StrongId() = default;
  constexpr explicit StrongId(int value) : value_(value) {}
  constexpr operator int() const { return value_; }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] constexpr int value() const { return value_; }
  /// For fmt from version 10 on, which takes no conversion.
  friend constexpr int format_as(StrongId id) { return id.value_; }

 private:
  int value_ = 0;
};

}  // namespace detail

/// Number of a rank in a team: 0 <= rank < team.size(). To the program, each rank is an address
/// space of its own.
using Rank = detail::StrongId<struct RankTag>;
/// Number of a worker, which runs tasks of its rank: 0 <= worker < world.worker_count().
using WorkerId = detail::StrongId<struct WorkerTag>;

}  // namespace shoal

template <class Tag>
struct std::hash<shoal::detail::StrongId<Tag>> {
  std::size_t operator()(shoal::detail::StrongId<Tag> id) const noexcept {
    return std::hash<int>{}(id.value());
  }
};
