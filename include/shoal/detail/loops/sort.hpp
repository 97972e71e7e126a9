#pragma once
// Sorting by parts that workers share.

#include <shoal/detail/base/signature.hpp>
#include <shoal/detail/loops/loop.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

namespace shoal::loops {

struct Less {
  template <class T, class U>
    requires requires(const T& a, const U& b) { a < b; }
  constexpr bool operator()(const T& a, const U& b) const {
    return a < b;
  }
};

template <class It, class Less>
consteval bool check_sort() {
  constexpr bool kSorts = std::random_access_iterator<It> && std::permutable<It>;
  static_assert(kSorts,
                "shoal: parallel_sort() moves elements with random access that are not const, as "
                "those of a vector; a list has a sort() of its own");
  if constexpr (kSorts) {
    using T = const std::iter_value_t<It>&;
    static_assert(std::is_invocable_r_v<bool, const Less&, T, T>,
                  "shoal: less(a, b) of parallel_sort() takes two elements, which it does not "
                  "change, and returns a bool, on several workers at once: a lambda without "
                  "'mutable', or a const operator(); elements without < need one");
    static_assert(!truncates_operands_v<T, Less>,
                  "shoal: the parameters of less(a, b) are smaller than the elements, of which "
                  "they would cut off a part");
    return std::is_invocable_r_v<bool, const Less&, T, T>;
  }
  return false;
}

/// Quicksort whose partitions do not branch on comparisons of small elements, which a processor
/// cannot predict; heap sort where pivots divide badly; insertion sort of few elements.
/// **Source**: S. Edelkamp, A. Weiss, "BlockQuicksort", ESA 2016; O. Peters, "Pattern-defeating
/// Quicksort", 2021, for pivots, equal elements and bad partitions.
template <class It, class Less>
class Sorter {
 public:
  using Difference = std::iter_difference_t<It>;
  using T = std::iter_value_t<It>;

  Sorter(const char* call, const LoopOptions& options, const Less& less)
      : call_(call), options_(options), less_(less), stop_(call, options) {
    options_.affinity = nullptr;
  }

  void run(It first, It last) {
    const auto size = static_cast<std::uint64_t>(last - first);
    sort<true>(first, last, static_cast<int>(std::bit_width(size)), true);
  }

 private:
  static constexpr Difference kFew = 24;      // sorted by insertion
  static constexpr Difference kMany = 128;    // with a pivot from nine
  static constexpr Difference kAlone = 4096;  // by one worker
  static constexpr Difference kPiece = 512;   // until it looks whether to stop
  static constexpr bool kSmall = std::is_trivially_copyable_v<T> && sizeof(T) <= 16;

  /// `bad`: partitions that may still divide badly. `is_first`: there is no element before `first`
  /// that is a pivot.
  template <bool shared>
  void sort(It first, It last, int bad, bool is_first) {
    for (;;) {
      const Difference size = last - first;
      if constexpr (shared) {
        if (size <= kAlone) return sort<false>(first, last, bad, is_first);
      }
      if (size <= kFew) return insert(first, last);
      if (size > kMany) stop_.check();
      choose_pivot(first, size);
      if (!is_first && !less_(*(first - 1), *first)) {  // nothing is less than the pivot
        first = divide(first, last,
                       [this](const T& value, const T& pivot) { return !less_(pivot, value); }) +
                1;
        continue;
      }
      const It middle = divide(
          first, last, [this](const T& value, const T& pivot) { return less_(value, pivot); });
      const Difference left = middle - first;
      const Difference right = size - 1 - left;
      if (left < size / 8 || right < size / 8) {
        if (--bad <= 0) return heap_sort(first, size);
        stir(first, left);
        stir(middle + 1, right);
      }
      if constexpr (shared) {
        return share_range(
            call_, options_, 2,
            [&](std::int64_t begin, std::int64_t end) {
              stop_.guard([&] {
                for (; begin != end; ++begin) {
                  if (begin == 0) {
                    sort<true>(first, middle, bad, is_first);
                  } else {
                    sort<true>(middle + 1, last, bad, false);
                  }
                }
              });
            },
            true);
      } else {
        sort<false>(first, middle, bad, is_first);
        first = middle + 1;
        is_first = false;
      }
    }
  }

  static void swap(It a, It b) {
    using std::swap;
    swap(*a, *b);
  }
  void order(It a, It b) const {
    if (less_(*b, *a)) swap(a, b);
  }
  /// Afterwards the median is in the middle.
  void order(It a, It b, It c) const {
    order(a, b);
    order(b, c);
    order(a, b);
  }
  void choose_pivot(It first, Difference size) const {
    const It middle = first + size / 2;
    const It last = first + (size - 1);
    if (size > kMany) {
      order(first, middle, last);
      order(first + 1, middle - 1, last - 1);
      order(first + 2, middle + 1, last - 2);
      order(middle - 1, middle, middle + 1);
      swap(first, middle);
    } else {
      order(middle, first, last);
    }
  }

  /// Moves elements that go_left(element, pivot), the first element, to the front; returns the
  /// place of the pivot behind them.
  template <class GoLeft>
  It divide(It first, It last, const GoLeft& go_left) const {
    It end = first + 1;  // of those
    if constexpr (kSmall) {
      const T pivot = *first;
      for (It one = first + 1; one != last;) {
        const It stop = last - one > kPiece ? one + kPiece : last;
        for (; one != stop; ++one) {
          const T value = *one;
          const bool left = go_left(value, pivot);
          *one = *end;
          *end = value;
          end += static_cast<Difference>(left);
        }
        if (one != last) stop_.check();
      }
    } else {
      It back = last;  // from here on, they stay
      const auto goes_left = [&](const T& value) {
        if ((back - end) % kPiece == 0) stop_.check();  // each call makes this less by one
        return go_left(value, *first);
      };
      for (;;) {
        while (end != back && goes_left(*end)) ++end;
        while (end != back && !goes_left(*(back - 1))) --back;
        if (end == back) break;
        --back;
        swap(end, back);
        ++end;
      }
    }
    --end;
    if (end != first) swap(first, end);
    return end;
  }

  // Breaks patterns that make pivots bad.
  static void stir(It first, Difference size) {
    if (size <= kFew) return;
    const Difference quarter = size / 4;
    swap(first, first + quarter);
    swap(first + (size - 1), first + (size - quarter));
    if (size <= kMany) return;
    swap(first + 1, first + (quarter + 1));
    swap(first + 2, first + (quarter + 2));
    swap(first + (size - 2), first + (size - (quarter + 1)));
    swap(first + (size - 3), first + (size - (quarter + 2)));
  }

  void insert(It first, It last) const {
    if (first == last) return;
    for (It one = first + 1; one != last; ++one) {
      if constexpr (kSmall) {
        const T value = *one;
        It place = one;
        for (; place != first && less_(value, *(place - 1)); --place) *place = *(place - 1);
        *place = value;
      } else {
        for (It place = one; place != first && less_(*place, *(place - 1)); --place)
          swap(place, place - 1);
      }
    }
  }

  void sink(It first, Difference root, Difference size) const {
    for (;;) {
      Difference child = 2 * root + 1;
      if (child >= size) return;
      if (child + 1 < size && less_(first[child], first[child + 1])) ++child;
      if (!less_(first[root], first[child])) return;
      swap(first + root, first + child);
      root = child;
    }
  }
  void heap_sort(It first, Difference size) const {
    for (Difference root = size / 2; root > 0; --root) {
      if (root % kMany == 0) stop_.check();
      sink(first, root - 1, size);
    }
    for (Difference end = size - 1; end > 0; --end) {
      if (end % kMany == 0) stop_.check();
      swap(first, first + end);
      sink(first, 0, end);
    }
  }

  const char* const call_;
  LoopOptions options_;
  const Less& less_;
  Stop stop_;
};

template <class It, class Less>
void sort(const char* call, const LoopOptions& options, It first, It last, const Less& less) {
  check_caller(call);
  const sched::LongCall here(call, options.name);
  Sorter<It, Less>(call, options, less).run(first, last);
}

}  // namespace shoal::loops
