#pragma once
// Reductions and scans with the same result for any number of workers.

#include <shoal/detail/base/number.hpp>
#include <shoal/detail/base/signature.hpp>
#include <shoal/detail/loops/loop.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal::loops {

struct Plus {
  template <class T, class U>
    requires requires(const T& a, const U& b) { a + b; }
  constexpr auto operator()(const T& a, const U& b) const {
    return a + b;
  }
};

/// Division of iterations into blocks of about one size, by their number alone.
class Blocks {
 public:
  static constexpr std::int64_t kMost = 1024;
  explicit Blocks(std::int64_t iterations)
      : count_(iterations < kMost ? iterations : kMost),
        size_(iterations / count_),
        larger_(iterations % count_) {}
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// First iteration of block n; for n == count() the end of all.
  [[nodiscard]] std::int64_t begin(std::int64_t n) const {
    return n * size_ + (n < larger_ ? n : larger_);
  }

 private:
  std::int64_t count_;
  std::int64_t size_;
  std::int64_t larger_;  // blocks that have one more
};

/// Binary tree in whose leaves blocks leave their values. A worker that comes to a node second
/// combines both values, in their order, and goes on to the node above.
template <class T, class Combine>
class Tree {
 public:
  Tree(std::int64_t leaves, const Combine& combine)
      : leaves_(leaves), combine_(combine), nodes_(new Node[static_cast<std::size_t>(leaves)]) {}

  void leave(std::int64_t leaf, T value) {
    std::int64_t first_node = 0;
    for (std::int64_t count = leaves_; count > 1; count = (count + 1) / 2, leaf /= 2) {
      const std::int64_t node_at = first_node + leaf / 2;
      first_node += count / 2;
      if (leaf == count - 1 && leaf % 2 == 0) continue;  // alone
      Node& node = nodes_[static_cast<std::size_t>(node_at)];
      std::optional<T>& mine = leaf % 2 == 0 ? node.left : node.right;
      // acquire, acq_rel: the second one sees the value of the first
      if (!node.has_one.load(std::memory_order_acquire)) {
        mine.emplace(std::move(value));
        if (!node.has_one.exchange(true, std::memory_order_acq_rel)) return;
        value = std::move(*mine);
      }
      if (leaf % 2 == 0) {
        value = combine_(std::move(value), std::move(*node.right));
      } else {
        value = combine_(std::move(*node.left), std::move(value));
      }
      node.left.reset();
      node.right.reset();
    }
    result_.emplace(std::move(value));
  }
  [[nodiscard]] T result() { return std::move(*result_); }

 private:
  struct Node {
    std::atomic<bool> has_one{false};
    std::optional<T> left;
    std::optional<T> right;
  };
  const std::int64_t leaves_;
  const Combine& combine_;
  const std::unique_ptr<Node[]> nodes_;  // leaves_ - 1, level by level
  std::optional<T> result_;
};

// A function of its own, so that a small sum is in a register: inlined into the division of a
// block, it was in memory, and sums of doubles took four times as long.
template <class T, class Map, class Combine, class ItemOf>
[[gnu::noinline]] T fold(T sum, const Map& map, const Combine& combine, const ItemOf item_of,
                         std::int64_t begin, std::int64_t end) {
  with_local(map, [&](const auto& local) {
    T part = std::move(sum);
    for (; begin != end; ++begin) part = combine(std::move(part), T(local(item_of(begin))));
    sum = std::move(part);
  });
  return sum;
}

/// `Item`: the arguments of an iteration.
template <class T, class Map, class... Item>
consteval bool check_map() {
  constexpr bool kAdds = std::is_invocable_v<const Map&, T&, Item...>;
  constexpr bool kFits = kAdds || std::is_invocable_r_v<T, const Map&, Item...>;
  static_assert(kFits,
                "shoal: the function of a reduction is map(i), whose value becomes one of the type "
                "of the identity, or map(sum, i), which adds to the sum");
  if constexpr (std::is_invocable_v<const Map&, T, Item...>) {
    static_assert(
        std::is_void_v<std::invoke_result_t<const Map&, T, Item...>> && !PlainFunction<Map>,
        "shoal: map(sum, i) of a reduction adds to the sum, which it takes by reference; "
        "a function that returns a new sum is combine(a, b), the parameter behind map");
  }
  if constexpr (!kAdds && std::is_invocable_v<const Map&, Item...>) {
    static_assert(
        !truncates_result_v<std::remove_cvref_t<std::invoke_result_t<const Map&, Item...>>, T>,
        "shoal: the values of this reduction would lose a part, for the type of the "
        "result is that of the identity: give 0.0 or std::int64_t{0} in place of 0, say");
  }
  return kFits;
}

/// `item_of(n)`: the argument for iteration n.
template <class T, class Map, class Combine, class ItemOf>
T reduce(const char* call, const LoopOptions& options, std::int64_t count, T identity,
         const Map& map, const Combine& combine, const ItemOf& item_of) {
  using Item = decltype(item_of(std::int64_t{}));
  constexpr bool kAdds = std::is_invocable_v<const Map&, T&, Item>;
  [[maybe_unused]] constexpr bool kFits = check_map<T, Map, Item>();
  static_assert(!loses_fraction_v<Item, Parameter<std::decay_t<const Map&>, kAdds ? 1 : 0>>,
                "shoal: the parameter of map(i) would cut off the fraction of the elements");
  static_assert(std::is_invocable_r_v<T, const Combine&, T, T>,
                "shoal: combine(a, b) of a reduction takes and returns values of the type of the "
                "identity, on several workers at once: a lambda without 'mutable', or a const "
                "operator(); a type without + needs one");
  static_assert(!truncates_operands_v<T, Combine>,
                "shoal: the parameters of combine(a, b) are smaller than the type of the identity, "
                "of whose values they would cut off a part");
  if constexpr (std::is_invocable_v<const Combine&, T, T>) {
    static_assert(!truncates_result_v<std::invoke_result_t<const Combine&, T, T>, T>,
                  "shoal: what combine(a, b) of this reduction returns would lose a part, for the "
                  "type of the result is that of the identity: give 0.0 in place of 0, say");
  }
  if (count == 0) {
    check_caller(call);
    return identity;
  }
  const sched::LongCall here(call, options.name);
  Stop stop(call, options);
  const Blocks blocks(count);
  Tree<T, Combine> tree(blocks.count(), combine);
  share_range(call, options, blocks.count(), [&](std::int64_t first, std::int64_t last) {
    stop.guard([&] {
      with_local(map, [&](const auto& local) {
        Watch watch(stop, last - first);
        for (std::int64_t block = first; block != last; ++block) {
          const std::int64_t begin = blocks.begin(block);
          const std::int64_t end = blocks.begin(block + 1);
          if constexpr (kAdds) {
            T sum = identity;
            watch.divide(begin, end, [&](std::int64_t i, std::int64_t stop_at) {
              for (; i != stop_at; ++i) local(sum, item_of(i));
            });
            tree.leave(block, std::move(sum));
          } else {
            T sum = local(item_of(begin));
            watch.divide(begin + 1, end, [&](std::int64_t i, std::int64_t stop_at) {
              sum = fold(std::move(sum), local, combine, item_of, i, stop_at);
            });
            tree.leave(block, std::move(sum));
          }
        }
      });
    });
  });
  return tree.result();
}

/// Scan in at most two passes: a worker that reaches a block when the sum of all before it is known
/// writes the block at once. The others are written in a second pass.
template <class T, class It, class Out, class Combine>
class Scan {
 public:
  Scan(std::int64_t count, const T* init, It first, Out out, const Combine& combine, Stop& stop)
      : blocks_(count),
        exclusive_(init != nullptr),
        first_(first),
        out_(out),
        combine_(combine),
        stop_(stop),
        before_(static_cast<std::size_t>(blocks_.count()) + 1),
        sums_(static_cast<std::size_t>(blocks_.count())),
        known_(new std::atomic<bool>[static_cast<std::size_t>(blocks_.count()) + 1]) {
    for (std::int64_t n = 0; n <= blocks_.count(); ++n) known_[index(n)].store(n == 0);
    if (exclusive_) before_[0].emplace(*init);
  }

  void run(const char* call, const LoopOptions& options) {
    share_range(call, options, blocks_.count(), [this](std::int64_t first, std::int64_t last) {
      stop_.guard([&] {
        Watch watch(stop_, last - first);
        for (; first != last; ++first) pass(first, watch);
      });
    });
    std::vector<std::int64_t> rest;
    Watch watch(stop_, 1);
    watch.divide(0, blocks_.count(), [&](std::int64_t n, std::int64_t end) {
      for (; n != end; ++n) {
        if (known_[index(n) + 1].load(std::memory_order_relaxed)) continue;
        rest.push_back(n);
        before_[index(n) + 1].emplace(with_before(n, *sums_[index(n)]));
      }
    });
    share_range(call, options, static_cast<std::int64_t>(rest.size()),
                [&](std::int64_t first, std::int64_t last) {
                  stop_.guard([&] {
                    Watch watch_rest(stop_, last - first);
                    for (; first != last; ++first) {
                      static_cast<void>(write(rest[index(first)], watch_rest));
                    }
                  });
                });
  }

 private:
  static std::size_t index(std::int64_t n) { return static_cast<std::size_t>(n); }
  [[nodiscard]] auto at(std::int64_t i) const {
    return first_ + static_cast<std::iter_difference_t<It>>(i);
  }
  void put(std::int64_t i, const T& value) {
    out_[static_cast<std::iter_difference_t<Out>>(i)] = value;
  }
  [[nodiscard]] T with_before(std::int64_t block, const T& value) const {
    const std::optional<T>& before = before_[index(block)];
    return before ? combine_(*before, value) : value;
  }

  void pass(std::int64_t block, Watch& watch) {
    // acquire pairs with the release below: the sum before the block is there
    if (known_[index(block)].load(std::memory_order_acquire)) {
      before_[index(block) + 1].emplace(with_before(block, write(block, watch)));
      known_[index(block) + 1].store(true, std::memory_order_release);
      return;
    }
    const std::int64_t begin = blocks_.begin(block);
    T sum = *at(begin);
    watch.divide(begin + 1, blocks_.begin(block + 1), [&](std::int64_t i, std::int64_t end) {
      T part = std::move(sum);  // in a register, if it is small
      for (; i != end; ++i) part = combine_(part, *at(i));
      sum = std::move(part);
    });
    sums_[index(block)].emplace(std::move(sum));
  }

  /// Writes a block, and returns the sum of its elements.
  T write(std::int64_t block, Watch& watch) {
    const std::int64_t begin = blocks_.begin(block);
    const std::int64_t end = blocks_.begin(block + 1);
    T sum = *at(begin);
    if (exclusive_) {
      T all = *before_[index(block)];
      put(begin, all);
      all = combine_(all, sum);
      watch.divide(begin + 1, end, [&](std::int64_t i, std::int64_t stop) {
        for (; i != stop; ++i) {
          const T value = *at(i);
          put(i, all);
          all = combine_(all, value);
          sum = combine_(sum, value);
        }
      });
    } else {
      T all = with_before(block, sum);
      put(begin, all);
      watch.divide(begin + 1, end, [&](std::int64_t i, std::int64_t stop) {
        for (; i != stop; ++i) {
          const T value = *at(i);
          all = combine_(all, value);
          sum = combine_(sum, value);
          put(i, all);
        }
      });
    }
    return sum;
  }

  const Blocks blocks_;
  const bool exclusive_;
  const It first_;
  const Out out_;
  const Combine& combine_;
  Stop& stop_;
  std::vector<std::optional<T>> before_;  // each block: combined elements before it
  std::vector<std::optional<T>> sums_;    // of blocks that were not written in the first pass
  // Whether before_ of a block is there in the first pass; its successor's: the block was written.
  const std::unique_ptr<std::atomic<bool>[]> known_;
};

/// Type of the sums of a scan: that of its elements, or the larger type of number that it writes.
template <class In, class Out>
using Sum = std::conditional_t<std::is_arithmetic_v<In> && std::is_arithmetic_v<Out> &&
                                   (sizeof(Out) > sizeof(In) || std::is_same_v<In, bool>),
                               Out, In>;

template <class T, class It, class Out, class Combine>
consteval bool check_scan() {
  constexpr bool kCombines = std::is_invocable_r_v<T, const Combine&, const T&, const T&> &&
                             std::is_convertible_v<std::iter_reference_t<It>, T>;
  static_assert(
      kCombines,
      "shoal: combine(a, b) of a scan takes and returns sums, of the type of the elements "
      "or of `init`, on several workers at once: a lambda without 'mutable', or a const "
      "operator(); a type without + needs one");
  static_assert(std::is_reference_v<std::iter_reference_t<Out>> ||
                    !std::is_same_v<std::iter_value_t<Out>, bool>,
                "shoal: workers that write bits of one std::vector<bool> overwrite each other: "
                "give a std::vector<char>");
  constexpr bool kWrites = std::indirectly_writable<Out, const T&>;
  static_assert(kWrites,
                "shoal: a scan writes its sums to `out`, elements of their type that are "
                "not const");
  static_assert(!truncates_operands_v<T, Combine>,
                "shoal: the parameters of combine(a, b) of this scan are smaller than its sums, of "
                "which they would cut off a part");
  static_assert(
      !truncates_result_v<T, std::iter_value_t<Out>>,
      "shoal: the sums of this scan would lose a part in `out`, elements of a smaller type");
  if constexpr (kCombines) {
    static_assert(!truncates_result_v<std::invoke_result_t<const Combine&, T, T>, T>,
                  "shoal: what combine(a, b) of this scan returns would lose a part, for the type "
                  "of the sums is that of the elements, or of `init`");
  }
  return kCombines && kWrites;
}

template <class T, class It, class Out, class Combine>
void scan(const char* call, const LoopOptions& options, std::int64_t count, const T* init, It first,
          Out out, const Combine& combine) {
  if constexpr (check_scan<T, It, Out, Combine>()) {
    if (count == 0) return check_caller(call);
    const sched::LongCall here(call, options.name);
    Stop stop(call, options);
    Scan<T, It, Out, Combine>(count, init, first, out, combine, stop).run(call, options);
  }
}

}  // namespace shoal::loops
