#pragma once
// Data handles, and how tasks use them.

#include <shoal/detail/base/number.hpp>
#include <shoal/detail/flow/task.hpp>
#include <shoal/detail/flow/types.hpp>
#include <shoal/matrix_view.hpp>
#include <shoal/rank.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>

namespace shoal {

/// A registered datum, the same on all ranks. T is a type that messages can carry, `std::span<U>`
/// for a vector, or `MatrixView<U>` for a matrix or tile. Small; copied freely.
template <class T>
class Data {
 public:
  /// Type of the datum.
  using value_type = T;
  /// A handle to no datum.
  Data() = default;
  /// Returns whether a flow has made the handle.
  [[nodiscard]] bool valid() const { return handle_ != nullptr; }

  /// @cond internals
  /// For the flow.
  Data(flow::Handle* handle, std::uint32_t generation) : handle_(handle), generation_(generation) {}
  /// For the flow.
  [[nodiscard]] flow::Handle* handle() const { return handle_; }
  /// For the flow.
  [[nodiscard]] std::uint32_t generation() const { return generation_; }
  /// @endcond

 private:
  flow::Handle* handle_ = nullptr;
  std::uint32_t generation_ = 0;
};

/// Options of a registered datum.
struct DataOptions {
  Rank owner{0};  // rank where its value lives
  /// Identity of the datum on all ranks, below 2^47. Default: the number of its registration, which
  /// must then be the same on all ranks.
  std::optional<std::uint64_t> tag{};
  std::string name{};  // for reports
};

namespace flow {

template <class T, Mode M>
struct TypedRequest {
  Data<T> data;
};
template <class T, Mode M>
[[nodiscard]] Request to_request(const TypedRequest<T, M>& what) {
  return {.handle = what.data.handle(), .generation = what.data.generation(), .mode = M};
}
template <class T>
inline constexpr bool is_request_v = false;
template <class T, Mode M>
inline constexpr bool is_request_v<TypedRequest<T, M>> = true;

}  // namespace flow

// --- modes of access: arguments of Flow::insert() and Flow::acquire(). The task is given const T&,
// T&, std::span<(const) U> or MatrixView<(const) U>.

/// The task reads the value.
template <class T>
[[nodiscard]] flow::TypedRequest<T, flow::Mode::read> read(Data<T> data) {
  return {data};
}
/// The task writes the whole value, and does not need the old one.
template <class T>
[[nodiscard]] flow::TypedRequest<T, flow::Mode::write> write(Data<T> data) {
  return {data};
}
/// The task reads and writes the value.
template <class T>
[[nodiscard]] flow::TypedRequest<T, flow::Mode::read_write> read_write(Data<T> data) {
  return {data};
}
/// The task reads and writes the value; consecutive commutative tasks run one at a time, in any
/// order.
template <class T>
[[nodiscard]] flow::TypedRequest<T, flow::Mode::commutative> commutative(Data<T> data) {
  return {data};
}
/// The task adds to a partial value, in any order and at the same time as others; see
/// Flow::set_reduction().
template <class T>
[[nodiscard]] flow::TypedRequest<T, flow::Mode::reduction> reduction(Data<T> data) {
  return {data};
}
/// Memory of the shape of the datum for the time of the task. Its contents are undefined.
template <class T>
[[nodiscard]] flow::TypedRequest<T, flow::Mode::scratch> scratch(Data<T> data) {
  return {data};
}

// --- options: further arguments of Flow::insert()

namespace flow {

struct OnRank {
  static constexpr int kOwner = -(1 << 30);  // not -1, which a program may have computed
  Rank rank{kOwner};
};
struct OnCheapest {};
struct WithPriority {
  int priority;
};
struct WithRetries {
  int retries;
};
/// Options of one insertion.
struct InsertOptions {
  static constexpr int kByOwner = OnRank::kOwner;
  static constexpr int kCheapest = kByOwner - 1;
  int rank = kByOwner;
  int priority = 0;

  void take(OnRank option) { rank = option.rank; }
  void take(OnCheapest /*option*/) { rank = kCheapest; }
  void take(WithPriority option) { priority = option.priority; }
  void take(const InsertOptions& all) { *this = all; }
};
template <class T>
inline constexpr bool is_option_v =
    std::is_same_v<T, OnRank> || std::is_same_v<T, OnCheapest> || std::is_same_v<T, WithPriority> ||
    std::is_same_v<T, WithRetries> || std::is_same_v<T, InsertOptions>;

}  // namespace flow

/// Runs the task on this rank, wherever its data live.
[[nodiscard]] inline flow::OnRank on_rank(Rank rank) { return {rank}; }
/// Runs the task on the owner of one of its data, so that the fewest bytes travel; of several such
/// ranks, on the one that was given the fewest tasks. Without data all ranks are considered. In a
/// pruned flow a hash of the data decides instead, and tasks without data take turns.
[[nodiscard]] inline flow::OnCheapest on_cheapest() { return {}; }
/// Priority of the task instead of that of the codelet: larger first.
[[nodiscard]] inline flow::WithPriority with_priority(int priority) { return {priority}; }
/// Number of further attempts of a task that throws, before its error counts. Each attempt gets
/// the same values: data that it reads and writes, and arguments, are copied before the first one.
/// See docs/errors.md, "Tasks that are tried again".
[[nodiscard]] inline flow::WithRetries with_retries(int retries) { return {retries}; }
/// Refused when it is compiled: priorities are integers.
template <std::floating_point Number>
[[nodiscard]] flow::WithPriority with_priority(Number /*priority*/) {
  check_priority<Number>();
  return {};
}

}  // namespace shoal
