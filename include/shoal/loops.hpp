#pragma once
// Loops with iterations that the workers of a rank share.
//
// Each call runs iterations in its caller, and workers without work take part: one takes half of
// what nobody has begun. No number says how many iterations go together: that follows the time
// they take. It returns when all iterations have ended.
//
// **Caller**: a task or the main function; loops nest. **Blocks**: parks the caller while other
// workers end their iterations; its worker runs other tasks meanwhile, but none on the caller's
// stack except iterations of this loop. **Errors**: the first exception of an iteration; iterations
// that have not begun are skipped, further exceptions are dropped. CancelledError when iterations
// were skipped because the caller's TaskGroup was cancelled or the world has failed. CheckError in
// a handler, on a thread that is no worker, and for a range with more than 2^63 - 1 iterations, or
// with numbers that the parameter of the body does not hold; of 32 bits, also one with more than
// 2^31 - 1 that ends just below 2^32. One that ends before it begins has none.
// **Ordering**: everything before the call happens before each iteration, and each iteration before
// the return. Iterations are not ordered: one must not wait for another one.

#include <shoal/detail/loops/items.hpp>
#include <shoal/detail/loops/loop.hpp>
#include <shoal/detail/loops/reduction.hpp>
#include <shoal/detail/loops/sort.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

/// Numbers first to last - 1.
struct Interval {
  /// The first one.
  std::int64_t first = 0;
  /// The one behind the last.
  std::int64_t last = 0;
  /// Size of the interval.
  [[nodiscard]] constexpr std::int64_t size() const { return last - first; }
};

/// Pairs of a row and a column. A loop over them goes block by block, each of 64 rows and columns
/// at most, and small enough for a cache; one of few short iterations costs little, as neighbours
/// are joined.
struct Range2D {
  /// Numbers of the rows.
  Interval rows;
  /// Numbers of the columns.
  Interval columns;
};

namespace loops {

template <class T>
concept Number = std::is_arithmetic_v<T>;

template <class R>
concept Range = requires(R& range) {
  std::begin(range);
  std::end(range);
};

/// Numbers of a loop: the first one, as the common type of both ends, and how many there are.
template <class C>
struct Numbers {
  C first = 0;
  std::int64_t count = 0;
};

template <class I, class J>
consteval bool check_ends() {
  constexpr bool kFits =
      std::integral<I> && std::integral<J> && !std::same_as<I, bool> && !std::same_as<J, bool>;
  static_assert(kFits, "shoal: the ends of a loop over numbers are integers");
  return kFits;
}

/// Numbers from `first` to `last` - 1: none if `last` is less. P: the parameter that takes them,
/// and `last` if the loop passes `pieces`. **Errors**: CheckError for numbers that the common type
/// of both ends, or P, does not hold; for more than 2^63 - 1 numbers, and for more than 2^31 - 1
/// that end just below 2^32.
template <class P, bool pieces = false, class I, class J>
Numbers<std::common_type_t<I, J>> numbers_of(const char* call, const LoopOptions& options, I first,
                                             J last) {
  using C = std::common_type_t<I, J>;
  const auto refuse = [&](const char* reason) {
    refuse_range(call, options, std::to_string(first) + " to " + std::to_string(last), reason);
  };
  if (!std::cmp_less(first, last)) return {};
  if (!std::in_range<C>(first) || !std::in_range<C>(last)) {
    refuse("has an end that the common type of both ends does not hold: give both the same type");
  }
  const auto begin = static_cast<C>(first);
  const std::uint64_t count =
      static_cast<std::uint64_t>(static_cast<C>(last)) - static_cast<std::uint64_t>(begin);
  if (count > static_cast<std::uint64_t>(INT64_MAX)) {
    refuse("has more than 2^63 - 1 iterations: is an unsigned number below zero?");
  }
  if constexpr (std::is_unsigned_v<J> && sizeof(J) == sizeof(std::uint32_t)) {
    if (last > UINT32_MAX - 16 && count > INT32_MAX) {
      refuse("ends just below 2^32: is an unsigned number below zero? If not, give 64 bits");
    }
  }
  if constexpr (may_cut_v<C, std::remove_cvref_t<P>>) {
    using To = std::remove_cvref_t<P>;
    const C most = static_cast<C>(static_cast<C>(last) - static_cast<C>(pieces ? 0 : 1));
    if (!holds<To>(begin) || !holds<To>(most)) {
      refuse("has numbers that the parameter of the function does not hold: give that more bits");
    }
  }
  return {begin, static_cast<std::int64_t>(count)};
}

/// `number`, which a parameter P holds (numbers_of()), as that takes it.
template <class P, class C>
constexpr auto as_taken(C number) {
  if constexpr (may_cut_v<C, std::remove_cvref_t<P>>) {
    return static_cast<std::remove_cvref_t<P>>(number);
  } else {
    return number;
  }
}

/// The number of elements from `first` to `last`: none if `last` is before it.
template <class It>
std::int64_t size_of(const It& first, const It& last) {
  return last < first ? 0 : static_cast<std::int64_t>(last - first);
}

/// Division of a Range2D into blocks.
struct Grid {
  static constexpr std::int64_t kMost = 64;  // rows and columns of a block, and of joined ones
  std::int64_t edge = 1;                     // rows and columns of a block
  std::int64_t down = 0;                     // blocks
  std::int64_t across = 0;                   // likewise
  [[nodiscard]] std::int64_t count() const { return down * across; }
  /// Numbers of `count` blocks from `n` on, of those that `whole` is divided into.
  [[nodiscard]] Interval part(std::int64_t n, std::int64_t count, const Interval& whole) const {
    const std::int64_t first = whole.first + n * edge;
    return {first, whole.last - first > count * edge ? first + count * edge : whole.last};
  }
  /// Calls run(block) for blocks `n` to `end` - 1, as few: short iterations take less time than
  /// small blocks cost.
  template <class Run>
  void join(std::int64_t n, std::int64_t end, const Range2D& whole, Run&& run) const {
    while (n != end) {
      const std::int64_t column = n % across;
      const std::int64_t wide = least(kMost / edge, across - column, end - n);
      const std::int64_t high = wide == across ? least(kMost / edge, (end - n) / across) : 1;
      run(Range2D{part(n / across, high, whole.rows), part(column, wide, whole.columns)});
      n += wide * high;
    }
  }

 private:
  static std::int64_t least(std::int64_t a, std::int64_t b, std::int64_t c = INT64_MAX) {
    const std::int64_t less = a < b ? a : b;
    return less < c ? less : c;
  }
};
/// Returns as many blocks as many workers need, of 64 rows and columns at most.
[[nodiscard]] Grid make_grid(std::int64_t rows, std::int64_t columns);

/// Part of a row of a Range2D.
struct RowPart {
  std::int64_t row = 0;
  Interval columns;
};

/// Division of the rows of a Range2D into parts, by their numbers alone: at least as many parts as
/// a reduction has blocks, and short enough to be one piece of a loop.
class RowParts {
 public:
  /// **Errors**: CheckError for a range with too many parts.
  RowParts(const char* call, const LoopOptions& options, const Range2D& range, std::int64_t rows,
           std::int64_t columns);
  [[nodiscard]] std::int64_t count() const { return rows_ * per_row_; }
  /// Returns part n; parts of a row follow each other.
  [[nodiscard]] RowPart at(std::int64_t n) const {
    const std::int64_t first = range_.columns.first + n % per_row_ * length_;
    const std::int64_t last = range_.columns.last;
    return {range_.rows.first + n / per_row_,
            {first, last - first > length_ ? first + length_ : last}};
  }

 private:
  const Range2D range_;
  const std::int64_t rows_;
  std::int64_t length_ = 1;   // columns of a part; the last one of a row may have fewer
  std::int64_t per_row_ = 0;  // parts
};

/// Returns iteration n of those that begin with `first`, without overflow on the way.
template <class C>
constexpr C number_at(C first, std::int64_t n) {
  return static_cast<C>(static_cast<std::uint64_t>(first) + static_cast<std::uint64_t>(n));
}

template <class F, class... Args>
consteval bool check_body() {
  static_assert(std::is_invocable_v<const F&, Args...>,
                "shoal: the body of a loop takes an iteration (a number, or an element), and runs "
                "on several workers at once: a lambda without 'mutable', or a const operator()");
  return std::is_invocable_v<const F&, Args...>;
}

/// check_body() of one that takes elements.
template <class F, class Element>
consteval bool check_element_body() {
  static_assert(!std::is_invocable_v<const F&, Element> ||
                    !loses_fraction_v<Element, Parameter<std::decay_t<F>, 0>>,
                "shoal: the parameter of the body would cut off the fraction of the elements");
  return check_body<F, Element>();
}

template <class It>
consteval bool check_random_access() {
  constexpr bool kFits = std::random_access_iterator<It>;
  static_assert(kFits,
                "shoal: this loop takes elements with random access, as those of a vector, an "
                "array or a span; for those of a list, a map or a set there is "
                "parallel_for_each()");
  return kFits;
}

}  // namespace loops

/// Calls f(i) for each number i from `first` to `last` - 1; or, if f takes two numbers, f(begin,
/// end) for pieces of this range, which the body goes through itself.
template <loops::Number I, loops::Number J, class F>
void parallel_for(I first, J last, F&& f, const LoopOptions& options = {}) {
  using C = std::common_type_t<I, J>;
  constexpr const char* kCall = "parallel_for";
  using Body = std::remove_reference_t<F>;
  using Taken = Parameter<std::decay_t<F>, 0>;
  const Body& body = f;
  if constexpr (!loops::check_ends<I, J>()) {
    return;
  } else if constexpr (!std::is_invocable_v<const Body&, C> &&
                       std::is_invocable_v<const Body&, C, C>) {
    const auto numbers = loops::numbers_of<Taken, true>(kCall, options, first, last);
    loops::run_range(kCall, options, numbers.count,
                     [&body, begin = numbers.first](std::int64_t b, std::int64_t e) {
                       body(loops::as_taken<Taken>(loops::number_at(begin, b)),
                            loops::as_taken<Taken>(loops::number_at(begin, e)));
                     });
  } else if constexpr (loops::check_body<Body, C>()) {
    const auto numbers = loops::numbers_of<Taken>(kCall, options, first, last);
    loops::run_range(kCall, options, numbers.count,
                     [&body, begin = numbers.first](std::int64_t b, std::int64_t e) {
                       loops::with_local(body, [&](const auto& local) {
                         const C stop = loops::number_at(begin, e);
                         for (C i = loops::number_at(begin, b); i != stop; ++i) {
                           local(loops::as_taken<Taken>(i));
                         }
                       });
                     });
  }
}

/// Calls f(*i) for each iterator i from `first` to before `last`.
template <std::input_or_output_iterator It, class F>
void parallel_for(It first, It last, F&& f, const LoopOptions& options = {}) {
  using Body = std::remove_reference_t<F>;
  const Body& body = f;
  if constexpr (!loops::check_random_access<It>()) {
    return;
  } else if constexpr (loops::check_element_body<Body, std::iter_reference_t<It>>()) {
    loops::run_range("parallel_for", options, loops::size_of(first, last),
                     [&](std::int64_t b, std::int64_t e) {
                       loops::with_local(body, [&](const auto& local) {
                         const It stop = first + static_cast<std::iter_difference_t<It>>(e);
                         It i = first + static_cast<std::iter_difference_t<It>>(b);
                         for (; i != stop; ++i) local(*i);
                       });
                     });
  }
}

/// Calls f(element) for each element of a vector, an array, or another range with random access.
template <loops::Range R, class F>
void parallel_for(R&& range, F&& f, const LoopOptions& options = {}) {
  parallel_for(std::begin(range), std::end(range), std::forward<F>(f), options);
}

/// Calls f(i, j) for each row i and column j of the range; or, if f takes a Range2D, f(block) for
/// blocks of it.
template <class F>
void parallel_for(const Range2D& range, F&& f, const LoopOptions& options = {}) {
  using Body = std::remove_reference_t<F>;
  const Body& body = f;
  constexpr const char* kCall = "parallel_for";
  using Row = Parameter<std::decay_t<F>, 0>;
  using Column = Parameter<std::decay_t<F>, 1>;
  const auto& [rows, columns] = range;
  const loops::Grid grid = loops::make_grid(
      loops::numbers_of<Row>(kCall, options, rows.first, rows.last).count,
      loops::numbers_of<Column>(kCall, options, columns.first, columns.last).count);
  const auto run_blocks = [&](const auto& run_block) {
    loops::run_range(kCall, options, grid.count(), [&](std::int64_t b, std::int64_t e) {
      loops::with_local(body, [&](const auto& local) {
        grid.join(b, e, range, [&](const Range2D& block) { run_block(local, block); });
      });
    });
  };
  if constexpr (std::is_invocable_v<const Body&, const Range2D&>) {
    run_blocks([](const auto& local, const Range2D& block) { local(block); });
  } else if constexpr (loops::check_body<Body, std::int64_t, std::int64_t>()) {
    run_blocks([](const auto& local, const Range2D& block) {
      for (std::int64_t i = block.rows.first; i != block.rows.last; ++i) {
        for (std::int64_t j = block.columns.first; j != block.columns.last; ++j) {
          local(loops::as_taken<Row>(i), loops::as_taken<Column>(j));
        }
      }
    });
  }
}

/// Calls the functions, each once, in any order and in parallel where workers are free. An Affinity
/// has no effect.
template <class... Fs>
  requires(sizeof...(Fs) > 0)
void parallel_invoke(const LoopOptions& options, Fs&&... functions) {
  constexpr auto kCount = static_cast<std::int64_t>(sizeof...(Fs));
  static_assert((std::is_invocable_v<Fs&> && ...),
                "shoal: parallel_invoke() calls functions that take no parameters");
  loops::run_range(
      "parallel_invoke", {.name = options.name, .priority = options.priority}, kCount,
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t n = begin; n != end; ++n) {
          std::int64_t at = 0;
          static_cast<void>(((at++ == n ? (static_cast<void>(functions()), true) : false) || ...));
        }
      },
      true);
}

/// Calls the functions, with default options.
template <class... Fs>
  requires(sizeof...(Fs) > 0 && !(std::same_as<std::remove_cvref_t<Fs>, LoopOptions> || ...))
void parallel_invoke(Fs&&... functions) {
  parallel_invoke(LoopOptions{}, std::forward<Fs>(functions)...);
}

/// Calls f(item) for each item from `first` to before `last`, iterators of any kind; or, if f takes
/// a Feeder, f(item, feeder), with copies of the items: feeder.add(item) adds one, for which f is
/// called as well. An f without feeder gets the elements themselves, and those of a container are
/// not copied.
template <std::input_iterator It, std::sentinel_for<It> End, class F>
void parallel_for_each(It first, End last, F&& f, const LoopOptions& options = {}) {
  using Body = std::remove_reference_t<F>;
  using T = std::iter_value_t<It>;
  const Body& body = f;
  constexpr const char* kCall = "parallel_for_each";
  if constexpr (std::is_invocable_v<const Body&, T&, Feeder<T>&> ||
                std::is_invocable_v<const Body&, T, Feeder<T>&>) {
    std::vector<T> items;
    for (; first != last; ++first) items.emplace_back(*first);
    loops::run_items(kCall, options, std::move(items), body);
  } else if constexpr (std::random_access_iterator<It> && std::same_as<It, End>) {
    if constexpr (loops::check_element_body<Body, std::iter_reference_t<It>>()) {
      loops::run_range(kCall, options, loops::size_of(first, last),
                       [&](std::int64_t b, std::int64_t e) {
                         for (; b != e; ++b)
                           body(first[static_cast<std::iter_difference_t<It>>(b)]);
                       });
    }
  } else if constexpr (std::forward_iterator<It>) {
    std::vector<It> places;
    for (; first != last; ++first) places.push_back(first);
    if constexpr (loops::check_element_body<Body, std::iter_reference_t<It>>()) {
      loops::run_range(kCall, options, std::ssize(places), [&](std::int64_t b, std::int64_t e) {
        for (; b != e; ++b) body(*places[static_cast<std::size_t>(b)]);
      });
    }
  } else {
    std::vector<T> items;
    for (; first != last; ++first) items.emplace_back(*first);
    if constexpr (loops::check_element_body<Body, T&>()) {
      loops::run_range(kCall, options, std::ssize(items), [&](std::int64_t b, std::int64_t e) {
        for (; b != e; ++b) body(items[static_cast<std::size_t>(b)]);
      });
    }
  }
}

/// Calls f for each element of a container; see parallel_for_each() of iterators.
template <loops::Range R, class F>
void parallel_for_each(R&& range, F&& f, const LoopOptions& options = {}) {
  parallel_for_each(std::begin(range), std::end(range), std::forward<F>(f), options);
}

/// Combines map(i) for each number i from `first` to `last` - 1 with combine(a, b), which is
/// associative, in the order of i. `identity`: the result without numbers; combine(identity, x) is
/// x. The result is the same for any number of workers, bit by bit, also of floating-point numbers:
/// what is combined with what depends on the number of iterations alone. If map takes two
/// arguments, map(sum, i) adds an iteration to `sum`, which begins as a copy of `identity`: for
/// sums that are large objects.
template <loops::Number I, loops::Number J, class T, class Map, class Combine = loops::Plus>
[[nodiscard]] T parallel_reduce(I first, J last, T identity, const Map& map,
                                const Combine& combine = {}, const LoopOptions& options = {}) {
  constexpr const char* kCall = "parallel_reduce";
  if constexpr (loops::check_ends<I, J>()) {
    constexpr bool kAdds = std::is_invocable_v<const Map&, T&, std::common_type_t<I, J>>;
    using Taken = Parameter<std::decay_t<const Map&>, kAdds ? 1 : 0>;
    const auto numbers = loops::numbers_of<Taken>(kCall, options, first, last);
    return loops::reduce(kCall, options, numbers.count, std::move(identity), map, combine,
                         [begin = numbers.first](std::int64_t i) {
                           return loops::as_taken<Taken>(loops::number_at(begin, i));
                         });
  }
}

/// Combines map(element) for each element from `first` to before `last`; see parallel_reduce() of
/// numbers.
template <std::input_or_output_iterator It, class T, class Map, class Combine = loops::Plus>
[[nodiscard]] T parallel_reduce(It first, It last, T identity, const Map& map,
                                const Combine& combine = {}, const LoopOptions& options = {}) {
  if constexpr (loops::check_random_access<It>()) {
    return loops::reduce("parallel_reduce", options, loops::size_of(first, last),
                         std::move(identity), map, combine,
                         [&first](std::int64_t i) -> decltype(auto) {
                           return first[static_cast<std::iter_difference_t<It>>(i)];
                         });
  }
}

/// Combines map(element) for each element of a range; see parallel_reduce() of numbers.
template <loops::Range R, class T, class Map, class Combine = loops::Plus>
[[nodiscard]] T parallel_reduce(R&& range, T identity, const Map& map, const Combine& combine = {},
                                const LoopOptions& options = {}) {
  const auto begin = std::begin(range);
  if constexpr (loops::check_random_access<std::remove_const_t<decltype(begin)>>()) {
    return parallel_reduce(begin, begin + (std::end(range) - begin), std::move(identity), map,
                           combine, options);
  }
}

/// Combines map(i, j) for each row i and column j of the range, row by row; see parallel_reduce()
/// of numbers. If map takes three arguments, map(sum, i, j) adds to `sum`.
template <class T, class Map, class Combine = loops::Plus>
[[nodiscard]] T parallel_reduce(const Range2D& range, T identity, const Map& map,
                                const Combine& combine = {}, const LoopOptions& options = {}) {
  constexpr const char* kCall = "parallel_reduce";
  constexpr bool kAdds = std::is_invocable_v<const Map&, T&, std::int64_t, std::int64_t>;
  using Row = Parameter<std::decay_t<const Map&>, kAdds ? 1 : 0>;
  using Column = Parameter<std::decay_t<const Map&>, kAdds ? 2 : 1>;
  if constexpr (loops::check_map<T, Map, std::int64_t, std::int64_t>()) {
    const loops::RowParts parts(
        kCall, options, range,
        loops::numbers_of<Row>(kCall, options, range.rows.first, range.rows.last).count,
        loops::numbers_of<Column>(kCall, options, range.columns.first, range.columns.last).count);
    const auto part_at = [&parts](std::int64_t n) { return parts.at(n); };
    const auto run = [&](const auto& map_part) {
      return loops::reduce(kCall, options, parts.count(), std::move(identity), map_part, combine,
                           part_at);
    };
    if constexpr (kAdds) {
      return run([&map](T& sum, const loops::RowPart& part) {
        for (std::int64_t j = part.columns.first; j != part.columns.last; ++j) {
          map(sum, loops::as_taken<Row>(part.row), loops::as_taken<Column>(j));
        }
      });
    } else {
      return run([&map, &combine](const loops::RowPart& part) -> T {
        const auto in_row = [&map, i = part.row](std::int64_t j) -> T {
          return map(loops::as_taken<Row>(i), loops::as_taken<Column>(j));
        };
        return loops::fold(
            in_row(part.columns.first), in_row, combine, [](std::int64_t j) { return j; },
            part.columns.first + 1, part.columns.last);
      });
    }
  }
}

/// Writes, for each element from `first` to before `last`, combine of all elements up to it, that
/// one included, to the same place from `out` on, which may be `first`. combine(a, b) is
/// associative. The result is the same for any number of workers, bit by bit. Needs a copyable
/// value type. The sums of numbers are of the type of the output if that is larger: those of bool
/// are counts in an array of int.
template <std::random_access_iterator It, std::random_access_iterator Out,
          class Combine = loops::Plus>
void parallel_scan(It first, It last, Out out, const Combine& combine = {},
                   const LoopOptions& options = {}) {
  using T = loops::Sum<std::iter_value_t<It>, std::iter_value_t<Out>>;
  loops::scan<T>("parallel_scan", options, loops::size_of(first, last), nullptr, first, out,
                 combine);
}

/// Writes, for each element from `first` to before `last`, combine of `init` and all elements
/// before it to the same place from `out` on; see parallel_scan().
template <std::random_access_iterator It, std::random_access_iterator Out, class T,
          class Combine = loops::Plus>
void parallel_exclusive_scan(It first, It last, Out out, T init, const Combine& combine = {},
                             const LoopOptions& options = {}) {
  static_assert(!truncates_result_v<std::iter_value_t<It>, T>,
                "shoal: the elements of this scan would lose a part, for the type of the sums is "
                "that of `init`: give 0.0 or std::int64_t{0} in place of 0, say");
  loops::scan<T>("parallel_exclusive_scan", options, loops::size_of(first, last), &init, first, out,
                 combine);
}

/// Sorts the elements from `first` to before `last`: afterwards less(b, a) is false for each a
/// before b. Equal elements may change places. If less() throws, the elements are there in some
/// order. An Affinity has no effect, as its pieces follow the elements.
template <std::input_or_output_iterator It, class Less = loops::Less>
void parallel_sort(It first, It last, const Less& less = {}, const LoopOptions& options = {}) {
  if constexpr (loops::check_sort<It, Less>()) {
    loops::sort("parallel_sort", options, first, last < first ? first : last, less);
  }
}

/// Sorts a vector, an array, or another range with random access; see parallel_sort() of
/// iterators.
template <loops::Range R, class Less = loops::Less>
void parallel_sort(R&& range, const Less& less = {}, const LoopOptions& options = {}) {
  parallel_sort(std::begin(range), std::end(range), less, options);
}

}  // namespace shoal
