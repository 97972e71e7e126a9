#pragma once
// A random program of messages whose arguments are around the size from which they travel apart.

#include <shoal/shoal.hpp>

#include "support/allocators.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shoal::testing {

/// Elements that say which message they belong to.
template <class T>
std::vector<T> large_values(int from, int number, std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<T>((static_cast<std::size_t>(from * 31 + number) + i) % 101);
  }
  return values;
}

/// Text that says which message it belongs to.
inline std::string large_text(int from, int number, std::size_t length) {
  std::string text(length, ' ');
  for (std::size_t i = 0; i < length; ++i) {
    text[i] = static_cast<char>('a' + (static_cast<std::size_t>(from * 31 + number) + i) % 23);
  }
  return text;
}

/// A type that owns its elements, and text, in members of all kinds.
struct LargeRecord {
  std::string name;
  std::vector<double, Uninitialized<double>> values;
  std::vector<int, Marked<int>> others;

  template <class Archive>
  void serialize(Archive& ar) {
    ar(name, values, others);
  }
};

/// A matrix whose serialize() writes from memory that is gone when it returns, and from its own.
struct LargeMatrix {
  std::size_t rows = 0;
  std::vector<double> elements;

  template <class Archive>
  void serialize(Archive& ar) {
    std::vector<float> packed;  // of the elements
    if constexpr (Archive::is_saving) packed.assign(elements.begin(), elements.end());
    ar(rows, packed);
    if constexpr (Archive::is_loading) {
      elements.assign(packed.begin(), packed.end());
    }
    ar.block(std::span(elements));
  }
};

inline std::vector<double> echo_large(const std::vector<double>& values, std::string_view text) {
  std::vector<double> result = values;
  result.push_back(static_cast<double>(text.size()));
  return result;
}

/// Runs on every rank; returns a description of what was wrong on this one, or "". `messages`: to
/// each rank.
// NOLINTNEXTLINE(readability-function-size): all kinds of messages of one stream
inline std::string run_large_arguments(World& world, std::uint64_t seed, int messages) {
  using Rows = std::vector<std::vector<int>>;
  const auto size = static_cast<std::size_t>(world.size());
  std::vector<int> next(size, 0);
  std::vector<int> next_cast(size, 0);
  int tasks = 0;
  std::string wrong;
  sync::Mutex mutex;  // handlers and tasks
  const auto check = [&](bool good, const char* what, int from, int number) {
    const sync::Lock lock(mutex);
    if (!good && wrong.empty()) {
      wrong = std::string(what) + ", message " + std::to_string(number) + " of rank " +
              std::to_string(from) + " on rank " + std::to_string(world.rank().value());
    }
  };
  const auto in_order = [&](int from, int number) {
    check(next[static_cast<std::size_t>(from)]++ == number, "out of order", from, number);
  };
  const auto small = world.make_am([&](int from, int number) { in_order(from, number); });
  const auto vector = world.make_am([&](int from, int number, std::vector<double> values) {
    in_order(from, number);
    check(values == large_values<double>(from, number, values.size()), "vector", from, number);
    values.push_back(1);  // it is the receiver's own
  });
  const auto several =
      world.make_am([&](int from, int number, const std::string& text, const Rows& rows,
                        const std::optional<std::vector<char>>& bytes) {
        in_order(from, number);
        bool good = text == std::string(text.size(), 'x');
        for (std::size_t i = 0; i < rows.size(); ++i) {
          good &= rows[i] == large_values<int>(from, number + static_cast<int>(i), rows[i].size());
        }
        good &= bytes.has_value() == (number % 2 == 0);
        if (bytes) good &= *bytes == large_values<char>(from, number, bytes->size());
        check(good, "several", from, number);
      });
  const auto views = world.make_am([&](int from, int number, std::span<const double> values,
                                       std::string_view text, std::span<const std::int16_t> last) {
    in_order(from, number);
    const bool good =
        std::ranges::equal(values, large_values<double>(from, number, values.size())) &&
        text == std::string(text.size(), 'y') &&
        std::ranges::equal(last, large_values<std::int16_t>(from, number, last.size()));
    check(good, "views", from, number);
  });
  const auto shared =
      world.make_am([&](int from, int number, const Immutable<std::vector<std::int64_t>>& values) {
        in_order(from, number);
        check(*values == large_values<std::int64_t>(from, number, values->size()), "immutable",
              from, number);
      });
  const auto matrix = world.make_am([&](int from, int number, const LargeMatrix& values) {
    in_order(from, number);
    check(values.elements == large_values<double>(from, number, values.rows), "matrix", from,
          number);
  });
  const auto record = world.make_am([&](int from, int number, std::string text, LargeRecord value) {
    in_order(from, number);
    bool good = text == large_text(from, number, text.size()) && text.c_str()[text.size()] == 0;
    text += "the receiver's own";
    good &= value.name == large_text(from, number + 1, value.name.size());
    good &=
        std::ranges::equal(value.values, large_values<double>(from, number, value.values.size()));
    good &= std::ranges::equal(value.others, large_values<int>(from, number, value.others.size()));
    value.values.push_back(1);
    check(good, "record", from, number);
  });
  const auto flags = world.make_am([&](int from, int number, const std::vector<bool>& values) {
    in_order(from, number);
    check(values == std::vector<bool>(values.size(), number % 3 == 0), "flags", from, number);
  });
  const auto task = world.make_am(
      [&](int from, int number, const std::vector<double>& values) {
        check(values == large_values<double>(from, number, values.size()), "task", from, number);
        const sync::Lock lock(mutex);
        ++tasks;
      },
      {.delivery = Delivery::task});
  const auto cast = world.make_am([&](int from, int number, const std::vector<double>& values) {
    check(next_cast[static_cast<std::size_t>(from)]++ == number, "cast out of order", from, number);
    check(values == large_values<double>(from, number, values.size()), "cast", from, number);
  });

  std::mt19937_64 random(seed * 1000 + static_cast<std::uint64_t>(world.rank().value()));
  const auto count_of = [&](std::size_t element_bytes) -> std::size_t {
    const std::size_t threshold = (std::size_t{16} << 10U) / element_bytes;
    switch (random() % 6) {
      case 0:
        return random() % 4;
      case 1:
        return threshold * 4 + random() % 100;
      case 2:
        return random() % threshold;
      default:
        return threshold - 6 + random() % 12;
    }
  };
  const int from = world.rank();
  int sent_tasks = 0;
  const auto send_one = [&](Rank to, int number) {
    switch (random() % 11) {
      case 0:
      case 1:
        return small.send(to, from, number);
      case 2: {  // moved
        return vector.send(to, from, number, large_values<double>(from, number, count_of(8)));
      }
      case 3: {
        const std::vector<double> values = large_values<double>(from, number, count_of(8));
        return vector.send(to, from, number, values);
      }
      case 4: {
        Rows rows;
        for (int i = static_cast<int>(random() % 24); i > 0; --i) {
          rows.push_back(large_values<int>(from, number + static_cast<int>(rows.size()),
                                           count_of(sizeof(int))));
        }
        std::optional<std::vector<char>> bytes;
        if (number % 2 == 0) bytes = large_values<char>(from, number, count_of(1));
        return several.send(to, from, number, std::string(count_of(1), 'x'), std::move(rows),
                            std::move(bytes));
      }
      case 5: {
        std::vector<double> values = large_values<double>(from, number, count_of(8));
        const std::string text(count_of(1), 'y');
        const auto last = large_values<std::int16_t>(from, number, count_of(2));
        if (number % 2 == 0) return views.send(to, from, number, values, text, last);
        return views.send(to, from, number, std::move(values), text, std::span(last));
      }
      case 6:
        return shared.send(to, from, number,
                           make_immutable<std::vector<std::int64_t>>(
                               large_values<std::int64_t>(from, number, count_of(8))));
      case 7: {
        LargeMatrix values;
        values.elements = large_values<double>(from, number, count_of(8));
        values.rows = values.elements.size();
        return matrix.send(to, from, number, std::move(values));
      }
      case 8: {
        LargeRecord value;
        value.name = large_text(from, number + 1, count_of(1));
        const auto values = large_values<double>(from, number, count_of(8));
        value.values.assign(values.begin(), values.end());
        const auto others = large_values<int>(from, number, count_of(sizeof(int)));
        value.others.assign(others.begin(), others.end());
        std::string text = large_text(from, number, count_of(1));
        if (number % 2 == 0) return record.send(to, from, number, text, value);
        return record.send(to, from, number, std::move(text), std::move(value));
      }
      case 9:
        // Mostly small ones: each flag takes long in a build without optimization.
        return flags.send(
            to, from, number,
            std::vector<bool>((number % 4 == 0 ? 8 : 1) * count_of(1), number % 3 == 0));
      default:
        task.send(to, from, number, large_values<double>(from, number, count_of(8)));
        ++sent_tasks;
        return small.send(to, from, number);
    }
  };
  const RankSet all = RankSet::range(Rank(0), world.size());
  for (int number = 0; number < messages; ++number) {
    for (int to = 0; to < world.size(); ++to) send_one(Rank(to), number);
    world.multicast(all, cast, from, number, large_values<double>(from, number, count_of(8)));
  }
  const Rank neighbour((from + 1) % world.size());
  std::vector<double> values = large_values<double>(from, 7, count_of(8));
  std::vector<double> expected = values;
  expected.push_back(20'000);
  auto answer = world.call(neighbour, am<echo_large>, std::move(values), std::string(20'000, 'z'));
  check(answer.get() == expected, "answer", from, 0);
  world.wait();
  for (const int count : next) check(count == messages, "messages are missing", 0, count);
  for (const int count : next_cast) check(count == messages, "multicasts are missing", 0, count);
  const int all_sent = world.allreduce(sent_tasks, std::plus<>());
  const int all_ran = world.allreduce(tasks, std::plus<>());
  check(all_sent == all_ran, "tasks are missing", all_sent, all_ran);
  return wrong;
}

}  // namespace shoal::testing
